// Reads the files of a model folder that a GGUF file describes: configuration, tokenizer and templates. Finds the
// tokenizer's name in llama.cpp as its converter does.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { createTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { preTokenizerLike, type NamedPreTokenizer } from "../../../lib/model-files/gguf/gguf-tokenizer.ts";
import {
  checkedText,
  preTokenizersByHash,
} from "../../../lib/model-files/gguf/writing/pre-tokenizer-hashes.ts";
import type { FolderModel } from "../../../lib/model-files/gguf/writing/written-model.ts";
import { readStoredTensors } from "../../../lib/model-files/weight-files.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readConfigFiles } from "../../architectures/config/served-config.ts";
import { storedParameters } from "../../architectures/stored-projections.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads a folder.
 *
 * @throws ServiceError `unsupported` if the tokenizer is not byte-level; others as `readModelConfig` and
 * `readStoredTensors`
 */
export function readFolderModel(folder: string): FolderModel {
  const { config, generation } = readConfigFiles(folder);
  const modelConfig = readModelConfig(folder);
  const tokenizer = readJson(join(folder, "tokenizer.json"));
  requireByteLevel(tokenizer);
  const tokenizerConfig = withTemplates(folder, readJson(join(folder, "tokenizer_config.json")));
  const all = readStoredTensors(folder);
  const used = new Set(storedParameters(modelConfig, all).map(({ name }) => name));
  return {
    className: modelConfig.architecture,
    // Safe cast: an object that was parsed from JSON.
    config: { ...config, ...((config["text_config"] ?? {}) as Json) },
    generation,
    tokenizer,
    tokenizerConfig,
    preTokenizer: preTokenizerOf({ tokenizer, config: tokenizerConfig }),
    tensors: new Map([...all].filter(([name]) => used.has(name))),
  };
}

/** Requires a tokenizer whose tokens spell bytes, because tokenizers of SentencePiece have other keys in a GGUF file. */
function requireByteLevel(tokenizer: Json): void {
  if (JSON.stringify([tokenizer["pre_tokenizer"], tokenizer["decoder"]]).includes('"ByteLevel"')) return;
  throw new ServiceError({
    code: "unsupported",
    message:
      "This model's tokenizer is one of SentencePiece, not a byte-level tokenizer, and is not written to GGUF files. Export the version in the format merged, and convert the folder with llama.cpp's convert_hf_to_gguf.py.",
  });
}

/** Reads the two files from which a tokenizer is created. */
export function readTokenizerFiles(folder: string): { readonly tokenizer: Json; readonly config: Json } {
  return {
    tokenizer: readJson(join(folder, "tokenizer.json")),
    config: readJson(join(folder, "tokenizer_config.json")),
  };
}

function readJson(file: string): Json {
  if (!existsSync(file)) return {};
  return JSON.parse(readFileSync(file, "utf8")) as Json; // Safe cast: Hone serves this model.
}

/** Adds the templates of separate files, which count only if tokenizer_config.json has none. */
function withTemplates(folder: string, config: Json): Json {
  if (config["chat_template"] !== undefined) return config;
  const file = join(folder, "chat_template.jinja");
  if (!existsSync(file)) return { ...config, ...readJson(join(folder, "chat_template.json")) };
  const usual = readFileSync(file, "utf8");
  const others = join(folder, "additional_chat_templates");
  const names = existsSync(others) ? readdirSync(others).filter((name) => name.endsWith(".jinja")) : [];
  if (names.length === 0) return { ...config, chat_template: usual };
  const named = names.map((name) => ({
    name: name.replace(/\.jinja$/, ""),
    template: readFileSync(join(others, name), "utf8"),
  }));
  return { ...config, chat_template: [{ name: "default", template: usual }, ...named] };
}

/** Returns the pre-tokenizer that llama.cpp's converter finds, or else one with the same rules. */
function preTokenizerOf(files: { readonly tokenizer: Json; readonly config: Json }): NamedPreTokenizer {
  const ids = createTokenizer(files).encode(checkedText, { addSpecialTokens: true });
  const hash = createHash("sha256")
    .update(`[${ids.join(", ")}]`)
    .digest("hex");
  const name = preTokenizersByHash[hash.slice(0, 16)];
  return name === undefined ? preTokenizerLike(files.tokenizer) : { name, isExact: true };
}
