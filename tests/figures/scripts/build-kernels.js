// Compiles model/kernels.ts with AssemblyScript, which is pinned here: prints the module in base 64, or with --write
// replaces model/kernel-bytes.js.

// deno-lint-ignore no-import-prefix
import asc from "npm:assemblyscript@0.28.20/asc";

const folder = new URL("../../../transformer/client/model/", import.meta.url);
const OPTIONS = [
  "-O3",
  "--noAssert",
  "--runtime",
  "stub",
  "--importMemory",
  "--initialMemory",
  "64",
  "--enable",
  "simd",
  "--use",
  "abort=",
];
let module;
const { error, stderr } = await asc.main(["kernels.ts", "--outFile", "kernels.wasm", ...OPTIONS], {
  readFile: (name) => (name === "kernels.ts" ? Deno.readTextFileSync(new URL(name, folder)) : null),
  writeFile: (_, bytes) => {
    module = bytes;
  },
  listFiles: () => [],
});
if (error) throw new Error(stderr.toString());
const base64 = module.toBase64();
if (Deno.args[0] === "--write") {
  const lines = [
    "// The module that tests/figures/scripts/build-kernels.js compiles from kernels.ts, in base 64.",
    "",
    `export const KERNEL_BYTES =\n  "${base64}";`,
    "",
  ];
  Deno.writeTextFileSync(new URL("kernel-bytes.js", folder), lines.join("\n"));
} else console.log(base64);
