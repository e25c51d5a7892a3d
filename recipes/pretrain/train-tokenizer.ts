// Makes models/hone-tiny/tokenizer.json out of a seeded sample of the corpus. Run by hand when the corpus changes;
// a model has to be trained again after that.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { seededRandom } from "../../src/domain/random.ts";
import { drawChat } from "./corpus/chats.ts";
import { buildTokenizer, countPieces } from "./model/vocabulary.ts";

const help = `usage: node dist/recipes/pretrain/train-tokenizer.js [--out models/hone-tiny] [--size 768] [--chats 40000]
Writes tokenizer.json: byte-level BPE with the corpus's most frequent words as whole tokens.`;

const { values } = parseArgs({
  options: {
    out: { type: "string", default: "models/hone-tiny" },
    size: { type: "string", default: "768" },
    chats: { type: "string", default: "40000" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) {
  console.log(help);
} else {
  const random = seededRandom("hone-tiny", "tokenizer");
  const chats = Array.from({ length: Number(values.chats) }, () =>
    drawChat(random, { factors: new Map(), toolChats: 0.3 }),
  );
  mkdirSync(values.out, { recursive: true });
  const file = join(values.out, "tokenizer.json");
  writeFileSync(
    file,
    `${JSON.stringify(buildTokenizer(countPieces(chats), Number(values.size)), null, 1)}\n`,
  );
  console.log(`wrote ${file}: ${values.size} tokens from ${chats.length} chats`);
}
