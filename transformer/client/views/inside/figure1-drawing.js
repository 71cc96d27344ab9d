// Figures 1 and 2 of the paper as SVG. Every box is a group with the name of its box in `data-box` and its full name
// in `data-name`; figure1.js fills hints, pictures and tokens in.

export const FIGURE_1 = `<svg class="hu-figure1" viewBox="0 -3 400 677" role="group">
  <rect class="hu-layers" x="10" y="256" width="188" height="310" rx="12"/>
  <text class="hu-stack" x="18" y="273">Encoder</text>
  <text class="hu-layer-note" x="190" y="273"/>
  <rect class="hu-layers" x="202" y="114" width="188" height="452" rx="12"/>
  <text class="hu-stack" x="210" y="131">Decoder</text>
  <text class="hu-layer-note" x="382" y="131"/>
  <path class="hu-residual" d="M104 559L27 559Q20 559 20 552L20 471Q20 464 26 464L32 464M104 417L27 417Q20 417 20 410L20 329Q20 322 26 322L32 322M296 559L373 559Q380 559 380 552L380 471Q380 464 374 464L368 464M296 417L373 417Q380 417 380 410L380 329Q380 322 374 322L368 322M296 275L373 275Q380 275 380 268L380 187Q380 180 374 180L368 180"/>
  <path class="hu-residual hu-tipped" d="M32 464L26 460.5L26 467.5ZM32 322L26 318.5L26 325.5ZM368 464L374 467.5L374 460.5ZM368 322L374 325.5L374 318.5ZM368 180L374 183.5L374 176.5Z"/>
  <path class="hu-arrow" d="M104 616L104 602M80 588L90 588M104 574L104 564M104 564L104 559Q104 554 97 554L75 554Q68 554 68 549L68 544M104 564L104 544M104 564L104 559Q104 554 111 554L133 554Q140 554 140 549L140 544M104 488L104 478M104 422L104 402M104 346L104 336M104 280L104 242M296 616L296 602M320 588L310 588M296 574L296 564M296 564L296 559Q296 554 289 554L267 554Q260 554 260 549L260 544M296 564L296 544M296 564L296 559Q296 554 303 554L325 554Q332 554 332 549L332 544M296 488L296 478M296 422L296 417Q296 412 303 412L325 412Q332 412 332 407L332 402M296 346L296 336M296 280L296 260M296 204L296 194M296 138L296 108M296 80L296 72M296 44L296 36M162 224L194 224Q201 224 201 231L201 403Q201 410 208 410L253 410Q260 410 260 406L260 402M162 224L194 224Q201 224 201 231L201 403Q201 410 208 410L289 410Q296 410 296 406L296 402"/>
  <path class="hu-arrow hu-tipped" d="M104 602L100.5 608L107.5 608ZM90 588L84 584.5L84 591.5ZM104 564L100.5 570L107.5 570ZM68 544L64.5 550L71.5 550ZM104 544L100.5 550L107.5 550ZM140 544L136.5 550L143.5 550ZM104 478L100.5 484L107.5 484ZM104 402L100.5 408L107.5 408ZM104 336L100.5 342L107.5 342ZM104 242L100.5 248L107.5 248ZM296 602L292.5 608L299.5 608ZM310 588L316 591.5L316 584.5ZM296 564L292.5 570L299.5 570ZM260 544L256.5 550L263.5 550ZM296 544L292.5 550L299.5 550ZM332 544L328.5 550L335.5 550ZM296 478L292.5 484L299.5 484ZM332 402L328.5 408L335.5 408ZM296 336L292.5 342L299.5 342ZM296 260L292.5 266L299.5 266ZM296 194L292.5 200L299.5 200ZM296 108L292.5 114L299.5 114ZM296 72L292.5 78L299.5 78ZM296 36L292.5 42L299.5 42ZM260 402L256.5 408L263.5 408ZM296 402L292.5 408L299.5 408Z"/>
  <g class="hu-box" data-box="encoder.embed.tokens" data-kind="embed" data-name="Embedding">
    <rect x="32" y="616" width="144" height="36" rx="6"/>
    <text x="86.5" y="632">Embedding</text>
    <text class="hu-box-hint" x="86.5" y="645.5"/>
    <image x="139" y="620" width="30" height="28" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="encoder.embed.positions" data-kind="embed" data-name="Positions">
    <rect x="6" y="574" width="74" height="28" rx="6"/>
    <text x="43" y="592.2">Positions</text>
  </g>
  <g class="hu-box" data-box="encoder.embed.sum" data-kind="embed" data-name="+">
    <rect x="90" y="574" width="28" height="28" rx="6"/>
    <text x="104" y="592.2">+</text>
  </g>
  <g class="hu-box" data-box="encoder.self_attn" data-kind="attention" data-name="Multi-head attention">
    <rect x="32" y="488" width="144" height="56" rx="6"/>
    <text x="86.5" y="506.2">Multi-head</text>
    <text x="86.5" y="521.8">attention</text>
    <text class="hu-box-hint" x="86.5" y="535.2"/>
    <image x="139" y="499" width="30" height="34" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="encoder.self_attn.add" data-kind="norm" data-name="Add">
    <rect x="32" y="450" width="144" height="28" rx="6"/>
    <text x="104" y="468.2">Add</text>
  </g>
  <g class="hu-box" data-box="encoder.self_attn.norm" data-kind="norm" data-name="LayerNorm">
    <rect x="32" y="422" width="144" height="28" rx="6"/>
    <text x="86.5" y="440.2">LayerNorm</text>
    <image x="139" y="426" width="30" height="20" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="encoder.ffn.hidden" data-kind="ffn" data-name="FFN, hidden">
    <rect x="32" y="374" width="144" height="28" rx="6"/>
    <text x="86.5" y="392.2">FFN, hidden</text>
    <image x="139" y="378" width="30" height="20" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="encoder.ffn.output" data-kind="ffn" data-name="FFN, output">
    <rect x="32" y="346" width="144" height="28" rx="6"/>
    <text x="86.5" y="364.2">FFN, output</text>
    <image x="139" y="350" width="30" height="20" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="encoder.ffn.add" data-kind="norm" data-name="Add">
    <rect x="32" y="308" width="144" height="28" rx="6"/>
    <text x="104" y="326.2">Add</text>
  </g>
  <g class="hu-box" data-box="encoder.ffn.norm" data-kind="norm" data-name="LayerNorm">
    <rect x="32" y="280" width="144" height="28" rx="6"/>
    <text x="86.5" y="298.2">LayerNorm</text>
    <image x="139" y="284" width="30" height="20" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="encoder.memory" data-kind="linear" data-name="Memory">
    <rect x="46" y="206" width="116" height="36" rx="6"/>
    <text x="86.5" y="222">Memory</text>
    <text class="hu-box-hint" x="86.5" y="235.5"/>
    <image x="125" y="210" width="30" height="28" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="decoder.embed.tokens" data-kind="embed" data-name="Embedding">
    <rect x="224" y="616" width="144" height="36" rx="6"/>
    <text x="278.5" y="632">Embedding</text>
    <text class="hu-box-hint" x="278.5" y="645.5"/>
    <image x="331" y="620" width="30" height="28" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="decoder.embed.positions" data-kind="embed" data-name="Positions">
    <rect x="320" y="574" width="74" height="28" rx="6"/>
    <text x="357" y="592.2">Positions</text>
  </g>
  <g class="hu-box" data-box="decoder.embed.sum" data-kind="embed" data-name="+">
    <rect x="282" y="574" width="28" height="28" rx="6"/>
    <text x="296" y="592.2">+</text>
  </g>
  <g class="hu-box" data-box="decoder.self_attn" data-kind="attention" data-name="Masked multi-head attention">
    <rect x="224" y="488" width="144" height="56" rx="6"/>
    <text x="278.5" y="506.2">Masked multi-</text>
    <text x="278.5" y="521.8">head attention</text>
    <text class="hu-box-hint" x="278.5" y="535.2"/>
    <image x="331" y="499" width="30" height="34" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="decoder.self_attn.add" data-kind="norm" data-name="Add">
    <rect x="224" y="450" width="144" height="28" rx="6"/>
    <text x="296" y="468.2">Add</text>
  </g>
  <g class="hu-box" data-box="decoder.self_attn.norm" data-kind="norm" data-name="LayerNorm">
    <rect x="224" y="422" width="144" height="28" rx="6"/>
    <text x="278.5" y="440.2">LayerNorm</text>
    <image x="331" y="426" width="30" height="20" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="decoder.cross_attn" data-kind="attention" data-name="Multi-head attention">
    <rect x="224" y="346" width="144" height="56" rx="6"/>
    <text x="278.5" y="364.2">Multi-head</text>
    <text x="278.5" y="379.8">attention</text>
    <text class="hu-box-hint" x="278.5" y="393.2"/>
    <image x="331" y="357" width="30" height="34" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="decoder.cross_attn.add" data-kind="norm" data-name="Add">
    <rect x="224" y="308" width="144" height="28" rx="6"/>
    <text x="296" y="326.2">Add</text>
  </g>
  <g class="hu-box" data-box="decoder.cross_attn.norm" data-kind="norm" data-name="LayerNorm">
    <rect x="224" y="280" width="144" height="28" rx="6"/>
    <text x="278.5" y="298.2">LayerNorm</text>
    <image x="331" y="284" width="30" height="20" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="decoder.ffn.hidden" data-kind="ffn" data-name="FFN, hidden">
    <rect x="224" y="232" width="144" height="28" rx="6"/>
    <text x="278.5" y="250.2">FFN, hidden</text>
    <image x="331" y="236" width="30" height="20" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="decoder.ffn.output" data-kind="ffn" data-name="FFN, output">
    <rect x="224" y="204" width="144" height="28" rx="6"/>
    <text x="278.5" y="222.2">FFN, output</text>
    <image x="331" y="208" width="30" height="20" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="decoder.ffn.add" data-kind="norm" data-name="Add">
    <rect x="224" y="166" width="144" height="28" rx="6"/>
    <text x="296" y="184.2">Add</text>
  </g>
  <g class="hu-box" data-box="decoder.ffn.norm" data-kind="norm" data-name="LayerNorm">
    <rect x="224" y="138" width="144" height="28" rx="6"/>
    <text x="278.5" y="156.2">LayerNorm</text>
    <image x="331" y="142" width="30" height="20" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="output.logits" data-kind="linear" data-name="Linear">
    <rect x="224" y="80" width="144" height="28" rx="6"/>
    <text x="296" y="98.2">Linear</text>
  </g>
  <g class="hu-box" data-box="output.softmax" data-kind="softmax" data-name="Softmax">
    <rect x="224" y="44" width="144" height="28" rx="6"/>
    <text x="296" y="62.2">Softmax</text>
  </g>
  <g class="hu-box" data-box="output.choice" data-kind="softmax" data-name="Next token">
    <rect x="224" y="0" width="144" height="36" rx="6"/>
    <text x="296" y="16">Next token</text>
    <text class="hu-box-hint" x="296" y="29.5"/>
  </g>
  <text class="hu-tokens" data-side="source" x="104" y="669"/>
  <text class="hu-tokens" data-side="target" x="296" y="669"/>
</svg>`;

export const FIGURE_2 = `<svg class="hu-figure1" viewBox="0 -2 460 168" role="group">
  <path class="hu-arrow" d="M71 24L79 24Q86 24 86 31L86 38Q86 45 93 45L100 45M71 82L79 82Q86 82 86 75L86 68Q86 61 93 61L100 61M176 53L194 53M270 53L288 53M364 53L382 53M420 76L420 89Q420 96 413 96L239 96Q232 96 232 103L232 117M71 140L194 140M270 140L288 140M364 140L382 140"/>
  <path class="hu-arrow hu-tipped" d="M100 45L94 41.5L94 48.5ZM100 61L94 57.5L94 64.5ZM194 53L188 49.5L188 56.5ZM288 53L282 49.5L282 56.5ZM382 53L376 49.5L376 56.5ZM232 117L235.5 111L228.5 111ZM194 140L188 136.5L188 143.5ZM288 140L282 136.5L282 143.5ZM382 140L376 136.5L376 143.5Z"/>
  <g class="hu-box" data-box="query" data-kind="attention" data-name="Q">
    <rect x="1" y="1" width="70" height="46" rx="6"/>
    <text x="36" y="18">Q</text>
    <image x="16" y="24" width="40" height="18" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="key" data-kind="attention" data-name="K">
    <rect x="1" y="59" width="70" height="46" rx="6"/>
    <text x="36" y="76">K</text>
    <image x="16" y="82" width="40" height="18" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="value" data-kind="attention" data-name="V">
    <rect x="1" y="117" width="70" height="46" rx="6"/>
    <text x="36" y="134">V</text>
    <image x="16" y="140" width="40" height="18" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="scores" data-kind="attention" data-name="MatMul">
    <rect x="100" y="30" width="76" height="46" rx="6"/>
    <text x="138" y="57.2">MatMul</text>
  </g>
  <g class="hu-box" data-box="scale" data-kind="attention" data-name="Scale">
    <rect x="194" y="30" width="76" height="46" rx="6"/>
    <text x="232" y="47">Scale</text>
    <image x="212" y="53" width="40" height="18" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="mask" data-kind="attention" data-name="Mask">
    <rect x="288" y="30" width="76" height="46" rx="6"/>
    <text x="326" y="57.2">Mask</text>
  </g>
  <g class="hu-box" data-box="softmax" data-kind="attention" data-name="SoftMax">
    <rect x="382" y="30" width="76" height="46" rx="6"/>
    <text x="420" y="47">SoftMax</text>
    <image x="400" y="53" width="40" height="18" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="heads" data-kind="attention" data-name="MatMul">
    <rect x="194" y="117" width="76" height="46" rx="6"/>
    <text x="232" y="134">MatMul</text>
    <image x="212" y="140" width="40" height="18" preserveAspectRatio="none"/>
  </g>
  <g class="hu-box" data-box="concat" data-kind="attention" data-name="Concat">
    <rect x="288" y="117" width="76" height="46" rx="6"/>
    <text x="326" y="144.2">Concat</text>
  </g>
  <g class="hu-box" data-box="output" data-kind="attention" data-name="Linear">
    <rect x="382" y="117" width="76" height="46" rx="6"/>
    <text x="420" y="134">Linear</text>
    <image x="400" y="140" width="40" height="18" preserveAspectRatio="none"/>
  </g>
</svg>`;
