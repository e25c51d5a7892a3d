// Writes the model files of all cases and their tokens into a folder. test/fixtures/gguf/record-llama-cpp.py reads
// them.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ggufCases } from "./cases.ts";
import { askedTokens, writeCase } from "./gguf-models.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Usage: node dist/test/gguf-numbers/write-cases.js <folder>");
mkdirSync(folder, { recursive: true });
for (const one of ggufCases) writeCase(folder, one);
writeFileSync(join(folder, "tokens.json"), JSON.stringify(askedTokens));
