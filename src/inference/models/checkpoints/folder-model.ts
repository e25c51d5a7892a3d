// Reads the files of a model folder that a GGUF file describes: configuration, tokenizer and templates. Determines
// llama.cpp's name for the tokenizer in the same way as llama.cpp's converter.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { createTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { ggufArchitectureOf } from "../../../lib/model-files/gguf/gguf-architecture.ts";
import {
  ggufTokenizer,
  preTokenizerLike,
  type NamedPreTokenizer,
} from "../../../lib/model-files/gguf/gguf-tokenizer.ts";
import { GgufMetadata } from "../../../lib/model-files/gguf/metadata.ts";
import { plainValues } from "../../../lib/model-files/gguf/type-numbers.ts";
import {
  checkedText,
  preTokenizersByHash,
} from "../../../lib/model-files/gguf/writing/pre-tokenizer-hashes.ts";
import { type FolderModel, tokenizerKeys } from "../../../lib/model-files/gguf/writing/written-model.ts";
import { isSentencePiece } from "../../../lib/model-files/gguf/writing/written-sentence-piece.ts";
import { addedTokensOf } from "../../../lib/model-files/gguf/writing/written-tokenizer.ts";
import { readStoredTensors } from "../../../lib/model-files/weight-files.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { joinExperts } from "../../architectures/experts/join-experts.ts";
import { readConfigFiles } from "../../architectures/config/served-config.ts";
import { storedParameters } from "../../architectures/stored-projections.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads a folder.
 *
 * @throws ServiceError `unsupported` if Hone cannot write this kind of tokenizer; others as `readModelConfig` and
 * `readStoredTensors`
 */
export function readFolderModel(folder: string): FolderModel {
  const { config, generation } = readConfigFiles(folder);
  const modelConfig = readModelConfig(folder);
  const tokenizer = readJson(join(folder, "tokenizer.json"));
  requireWrittenKind(tokenizer);
  const tokenizerConfig = withTemplates(folder, readJson(join(folder, "tokenizer_config.json")));
  const all = readStoredTensors(folder);
  const used = new Set(storedParameters(modelConfig, all).map(({ name }) => name));
  // The decoder's stacks of experts have other names than the tensors in the files from which they are joined.
  const joined = joinExperts(all, modelConfig);
  const described = {
    className: modelConfig.architecture,
    // Safe cast: an object that was parsed from JSON.
    config: { ...config, ...((config["text_config"] ?? {}) as Json) },
    tokenizer,
    tokenizerConfig,
  };
  return {
    ...described,
    generation,
    preTokenizer: preTokenizerOf(described),
    tensors: new Map([...all].filter(([name]) => used.has(name) || !joined.has(name))),
  };
}

/** Requires a byte-level tokenizer, or a SentencePiece tokenizer with tokens for bytes. */
function requireWrittenKind(tokenizer: Json): void {
  if (isSentencePiece(tokenizer)) return;
  if (JSON.stringify([tokenizer["pre_tokenizer"], tokenizer["decoder"]]).includes('"ByteLevel"')) return;
  throw new ServiceError({
    code: "unsupported",
    message:
      "This model's tokenizer is neither byte-level nor one of SentencePiece with tokens for bytes, and is not written to GGUF files. Export the version in the format merged, and convert the folder with llama.cpp's convert_hf_to_gguf.py.",
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

type DescribedTokenizer = Omit<FolderModel, "preTokenizer" | "generation" | "tensors">;

/** Returns the pre-tokenizer that llama.cpp's converter finds, or else one with the same rules. */
function preTokenizerOf(described: DescribedTokenizer): NamedPreTokenizer {
  const files = { tokenizer: described.tokenizer, config: described.tokenizerConfig };
  if (isSentencePiece(files.tokenizer)) return piecesOf(described, files);
  const ids = createTokenizer(files).encode(checkedText, { addSpecialTokens: true });
  const hash = createHash("sha256")
    .update(`[${ids.join(", ")}]`)
    .digest("hex");
  const name = preTokenizersByHash[hash.slice(0, 16)];
  return name === undefined ? preTokenizerLike(files.tokenizer) : { name, isExact: true };
}

/**
 * Returns the pre-tokenizer for a SentencePiece tokenizer. It is exact if the tokenizer that a reader derives from the
 * file's keys encodes a test text to the same tokens.
 */
function piecesOf(
  described: DescribedTokenizer,
  files: { readonly tokenizer: Json; readonly config: Json },
): NamedPreTokenizer {
  const keys = tokenizerKeys({ ...described, preTokenizer: { name: "default", isExact: true } });
  const architecture = { type: "text", value: ggufArchitectureOf(described.className) ?? "" } as const;
  const all = new Map([["general.architecture", architecture], ...keys]);
  const read = ggufTokenizer(new GgufMetadata("the exported file", plainValues(all)));
  const added = addedTokensOf(files.tokenizer).map(({ content }) => content);
  const text = [checkedText, ...added, ""].join(" a  b");
  const [own, derived] = [files, read].map((one) =>
    createTokenizer(one).encode(text, { addSpecialTokens: true }),
  );
  return { name: "default", isExact: own.join() === derived.join() };
}
