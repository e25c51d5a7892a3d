// Models that differ from the golden model only in their chat template or tokenizer, and flags that serve them.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const golden = "test/fixtures/goldens/models/qwen3";
const scratch = mkdtempSync(join(tmpdir(), "hone-models-"));
process.once("exit", () => rmSync(scratch, { recursive: true }));

function copyOfGolden(name: string): string {
  const folder = join(scratch, name);
  mkdirSync(folder);
  const files = [
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
  ];
  for (const file of files) copyFileSync(join(golden, file), join(folder, file));
  return folder;
}

/** Returns the folder of a model whose tokenizer can put a special token before a text. */
function withStartToken(): string {
  const folder = copyOfGolden("tiny");
  const files = JSON.parse(readFileSync(join(golden, "tokenizer.json"), "utf8")) as Record<string, unknown>;
  const token = "<|endoftext|>";
  const single = [{ SpecialToken: { id: token, type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }];
  const special_tokens = { [token]: { id: token, ids: [0], tokens: [token] } };
  const post_processor = { type: "TemplateProcessing", single, pair: single, special_tokens };
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify({ ...files, post_processor }));
  return folder;
}

/** Returns the folder of a model whose template raises an error if a system message is not the first message. */
function withStrictTemplate(): string {
  const folder = copyOfGolden("strict");
  copyFileSync("test/fixtures/chat-templates/qwen3.5.jinja", join(folder, "chat_template.jinja"));
  return folder;
}

/** Flags that serve `tiny` and `strict`, and the built-in model with tools that its template does not render. */
export const templated = ["--model", withStartToken(), "--model", withStrictTemplate()];
templated.push("--chat-tool-calls", "hone-tiny=generic");
