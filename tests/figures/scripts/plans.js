// Prints for each code of a lesson plan what the browser reads, or the sentence about what is wrong.

import { planOfLink } from "../../../transformer/client/app/learn/plan-file.js";

const [codes, lessons] = Deno.args.map((argument) => JSON.parse(argument));
const read = [];
for (const code of codes) read.push(await planOfLink(code, lessons).catch((error) => error.message));
console.log(JSON.stringify(read));
