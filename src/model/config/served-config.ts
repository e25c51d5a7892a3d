// What serving needs to know of a model, whoever computes it: three facts of its config.json, also where the decoder here
// does not know its architecture. What is computed here is read by read-config.ts.
import { ConfigReader } from "./config-reader.ts";
import { readConfigFiles, readEndOfTextIds } from "./config-files.ts";

export interface ServedConfig {
  /** How many ids the model has; token ids are below it. */
  readonly vocabularySize: number;
  /** Tokens in prompt and answer together. */
  readonly contextLength: number;
  /** Any of these ends a text; from generation_config.json, or config.json where that names none. */
  readonly endOfTextIds: readonly number[];
}

/**
 * Reads them of the model in `folder`; those of a model of more than text stand in its `text_config`.
 *
 * @throws ServiceError `not_found` without a config.json, `invalid` when it does not parse, `unsupported` naming what lacks
 */
export function readServedConfig(folder: string): ServedConfig {
  const { config, generation } = readConfigFiles(folder);
  const text = config["text_config"];
  const isNested = text !== null && typeof text === "object" && !Array.isArray(text);
  const fields = isNested ? { ...config, ...text } : config;
  const reader = new ConfigReader(fields, "config.json");
  const result: ServedConfig = {
    vocabularySize: reader.count("vocab_size"),
    contextLength: reader.count("max_position_embeddings"),
    endOfTextIds: readEndOfTextIds(fields, generation),
  };
  if (reader.hasFaults)
    throw reader.error(`The model in ${folder} cannot be served: its config.json says too little.`);
  return result;
}
