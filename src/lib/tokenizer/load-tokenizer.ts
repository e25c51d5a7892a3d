// Reads a tokenizer, and the JSON files beside it, from a folder in the Hugging Face layout.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ServiceError } from "../../base/domain/service-error.ts";
import { createTokenizer } from "./tokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * Loads tokenizer.json and tokenizer_config.json of a model folder.
 *
 * @throws ServiceError `unsupported` when tokenizer.json is missing, broken or describes a tokenizer that is not supported
 */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  const tokenizer = await readJsonObject(folder, "tokenizer.json");
  if (tokenizer === null) {
    throw new ServiceError({
      code: "unsupported",
      message: `The model folder ${folder} has no tokenizer.json.`,
    });
  }
  return createTokenizer({
    tokenizer,
    config: (await readJsonObject(folder, "tokenizer_config.json")) ?? {},
  });
}

/** The JSON object in a file of the folder; null when there is no such file, ServiceError `unsupported` when it holds none. */
export async function readJsonObject(
  folder: string,
  name: string,
): Promise<Readonly<Record<string, unknown>> | null> {
  const text = await readTextFile(folder, name);
  if (text === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ServiceError({
      code: "unsupported",
      message: `${join(folder, name)} is not valid JSON.`,
      cause,
    });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ServiceError({
      code: "unsupported",
      message: `${join(folder, name)} must hold a JSON object.`,
    });
  }
  return { ...value };
}

/** The text of a file of the folder; null when there is no such file. */
export async function readTextFile(folder: string, name: string): Promise<string | null> {
  try {
    return await readFile(join(folder, name), "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return null;
    throw cause;
  }
}
