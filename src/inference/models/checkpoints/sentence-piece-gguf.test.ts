// Tests exported GGUF files of models with a SentencePiece tokenizer. They must equal, byte for byte, the files of
// llama.cpp's converter, which reads tokenizer.model (test/fixtures/gguf/record-sentence-piece.py).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { present } from "../../../base/domain/assert.ts";
import { ensureGgufFolder } from "../../../lib/model-files/gguf/gguf-model.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { planExport } from "./plan-export.ts";
import { fileBytes } from "./testing/planned-bytes.ts";

const scratch = mkdtempSync(join(tmpdir(), "hone-pieces-"));
after(() => rmSync(scratch, { recursive: true }));

const tokenizers = "test/fixtures/gguf/sentencepiece";
/** Safe cast: the recorder writes these hashes, by model. */
const recorded = JSON.parse(readFileSync(join(tokenizers, "hashes.json"), "utf8")) as Readonly<
  Record<string, string>
>;

interface Tokenizer {
  readonly model: { readonly merges: readonly unknown[] };
}

/** Returns a folder with the weights of a golden model and with a SentencePiece tokenizer that `change` has changed. */
function folderOf(name: string, change: (tokenizer: Tokenizer) => object = (tokenizer) => tokenizer): string {
  const folder = mkdtempSync(join(scratch, "folder-"));
  cpSync(join("test/fixtures/goldens/models", name), folder, { recursive: true });
  cpSync(join(tokenizers, name), folder, { recursive: true });
  const file = join(folder, "tokenizer.json");
  writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, "utf8")))));
  return folder;
}

async function exported(baseFolder: string): Promise<Buffer> {
  const none = { adapterFolder: null, adapterHash: null };
  const plan = await planExport({ format: "gguf", ...none, name: "name", chosenType: "F32", baseFolder });
  return fileBytes(
    present(
      plan.find(({ name }) => name === "model.gguf"),
      "a model file",
    ),
  );
}

for (const [name, hash] of Object.entries(recorded))
  test(`writes ${name} with a SentencePiece tokenizer as llama.cpp's converter does`, async () => {
    const bytes = await exported(folderOf(name));
    assert.equal(createHash("sha256").update(bytes).digest("hex"), hash);
  });

test("adds the whole tokenizer if its merges have another order than the tokens' ids", async () => {
  const reversed = folderOf("llama", (tokenizer) => ({
    ...tokenizer,
    model: { ...tokenizer.model, merges: tokenizer.model.merges.toReversed() },
  }));
  const file = join(scratch, "reversed.gguf");
  writeFileSync(file, await exported(reversed));
  const [own, read] = await Promise.all(
    [reversed, ensureGgufFolder(file, join(scratch, "served"))].map((folder) => loadTokenizer(folder)),
  );
  for (const text of ["Hello  there,\nworld", "other 日本", "a <s> b"])
    assert.deepEqual(
      read.encode(text, { addSpecialTokens: true }),
      own.encode(text, { addSpecialTokens: true }),
    );
});
