// Writes the Modelfile that Ollama needs to import an exported GGUF file. It contains the file's name, the template,
// the stop texts, and the sampling parameters from generation_config.json.
import { present } from "../../../base/domain/assert.ts";
import { createTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { readConfigFiles } from "../../architectures/config/served-config.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { loadChatTemplate } from "../../chat-templates/load-chat-template.ts";
import { readTokenizerFiles } from "./folder-model.ts";
import { ollamaTemplate } from "./ollama-template.ts";
import type { PlannedFile } from "./row-parts.ts";

/** Maps Ollama's parameter names to fields of generation_config.json. */
const parameters = {
  temperature: "temperature",
  top_p: "top_p",
  top_k: "top_k",
  min_p: "min_p",
  repeat_penalty: "repetition_penalty",
} as const;

/**
 * Returns the Modelfile of a model.
 *
 * @param files names of the exported files, in the same folder
 */
export async function modelfileOf(
  baseFolder: string,
  files: { readonly model: string; readonly adapter?: string },
): Promise<PlannedFile> {
  const lines = [`FROM ./${files.model}`];
  if (files.adapter !== undefined) lines.push(`ADAPTER ./${files.adapter}`);
  const template = await templateOf(baseFolder);
  if (template !== null) lines.push(`TEMPLATE """${template}"""`);
  lines.push(...endTexts(baseFolder).map((text) => `PARAMETER stop ${JSON.stringify(text)}`));
  const { generation } = readConfigFiles(baseFolder);
  for (const [name, field] of Object.entries(parameters))
    if (typeof generation[field] === "number") lines.push(`PARAMETER ${name} ${generation[field]}`);
  const bytes = Buffer.from(`${lines.join("\n")}\n`);
  return { name: "Modelfile", byteCount: bytes.length, parts: [{ kind: "made", bytes }] };
}

async function templateOf(baseFolder: string): Promise<string | null> {
  return ollamaTemplate(await loadChatTemplate(baseFolder), beginToken(baseFolder));
}

/** Returns the token that the tokenizer adds before each text; null if it adds none. */
function beginToken(baseFolder: string): string | null {
  const tokenizer = createTokenizer(readTokenizerFiles(baseFolder));
  const [id] = tokenizer.encode("", { addSpecialTokens: true });
  return id === undefined ? null : tokenizer.tokenSpelling(id);
}

/** Returns the texts of tokens that end an answer. */
function endTexts(baseFolder: string): readonly string[] {
  const tokenizer = createTokenizer(readTokenizerFiles(baseFolder));
  const { endOfTextIds } = readModelConfig(baseFolder);
  const texts = endOfTextIds.map((id) => tokenizer.tokenSpelling(id));
  return [...new Set(texts)].filter((text) => text !== "").map((text) => present(text, "a text"));
}
