// Three values of config.json that serving needs with any engine, even for vLLM models whose architecture Hone's
// decoder does not support. `read-config` reads the whole configuration of models that Hone computes itself.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { families } from "./families.ts";
import { ConfigReader, type JsonObject } from "./config-reader.ts";

export interface ServedConfig {
  /** Number of tokens in the vocabulary. Every token id is lower than this number. */
  readonly vocabularySize: number;
  /** Maximum number of tokens in prompt and answer together. */
  readonly contextLength: number;
  /** Ids of end-of-text tokens, from generation_config.json or, if that file names none, from config.json. */
  readonly endOfTextIds: readonly number[];
}

/**
 * Reads a {@link ServedConfig} from the model's folder. For a multimodal model, reads its values from `text_config`.
 *
 * @throws ServiceError `not_found` without a config.json, `invalid` if a file is not valid JSON, `unsupported` naming
 * the missing field
 */
export function readServedConfig(folder: string): ServedConfig {
  const { config, generation } = readConfigFiles(folder);
  const text = config["text_config"];
  const isNested = text !== null && typeof text === "object" && !Array.isArray(text);
  const fields = isNested ? { ...config, ...text } : config;
  const reader = new ConfigReader(fields, "config.json");
  const usual = Object.values(families).find(
    ({ modelType }) => modelType === fields["model_type"],
  )?.usualSizes;
  const result: ServedConfig = {
    vocabularySize: reader.count("vocab_size", usual?.vocabulary),
    contextLength: reader.count("max_position_embeddings", usual?.contextLength),
    endOfTextIds: readEndOfTextIds(fields, generation),
  };
  if (reader.hasFaults)
    throw reader.error(`The model in ${folder} cannot be served: its config.json is incomplete.`);
  return result;
}

interface ConfigFiles {
  readonly config: JsonObject;
  /** Content of generation_config.json; an empty object if the file is missing. */
  readonly generation: JsonObject;
}

/**
 * Reads config.json and generation_config.json.
 *
 * @throws ServiceError `not_found` without a config.json, `invalid` for a file that is not valid JSON
 */
export function readConfigFiles(folder: string): ConfigFiles {
  const config = readJson(folder, "config.json");
  if (config === null) {
    throw new ServiceError({
      code: "not_found",
      message: `${folder} has no config.json; a model is a folder in the Hugging Face layout.`,
    });
  }
  return { config, generation: readJson(folder, "generation_config.json") ?? {} };
}

function readJson(folder: string, name: string): JsonObject | null {
  const file = join(folder, name);
  if (!existsSync(file)) return null;
  let value: unknown;
  try {
    value = JSON.parse(asJson(readFileSync(file, "utf8")));
  } catch (cause) {
    throw new ServiceError({ code: "invalid", message: `${file} is not valid JSON; copy it again.`, cause });
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw invalid(`${file} is not a JSON object; copy it again.`);
  }
  return value as JsonObject;
}

/** Replaces infinite numbers by numbers that overflow: Python writes them as `Infinity`, which JSON does not have. */
function asJson(text: string): string {
  return text.replace(/([[:,]\s*-?)Infinity(?=\s*[\],}])/g, "$11e999");
}

/**
 * Returns the end-of-text ids, which files store as one id or as a list. Takes them from config.json if
 * generation_config.json has none.
 */
export function readEndOfTextIds(config: JsonObject, generation: JsonObject): readonly number[] {
  const ids = generation["eos_token_id"] ?? config["eos_token_id"];
  return (Array.isArray(ids) ? ids : [ids]).filter((id) => Number.isInteger(id));
}
