// Finds the model that the demo trains: the built-in model, an added model, a model folder or file, or a base model of
// a running server. Reads no weights.
import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** The model to train, with suitable settings. */
export interface DemoModel {
  /** Name of the base model on the server. */
  readonly baseModel: string;
  /** Flags of `hone serve` for a temporary server that serves the model. */
  readonly serverFlags: Readonly<Record<string, string>>;
  /** Default task for the model. */
  readonly task: "words" | "sentiment";
}

const builtIn = "hone-tiny";

/** A model that `hone models add` put into the data folder. */
export type AddedModel = Readonly<Record<"name" | "source" | "path", string>>;

/**
 * Returns the model to train.
 *
 * @param given name of a model, or path of a model folder or file
 * @param added models in the data folder; null if a running server provides the model
 * @throws ServiceError `invalid` for an unknown model
 */
export function demoModel(given: string, added: readonly AddedModel[] | null): DemoModel {
  const task = given === builtIn ? "words" : "sentiment";
  if (added === null || given === builtIn) return { baseModel: given, serverFlags: {}, task };
  const path = existsSync(given)
    ? given
    : added.find(({ name, source }) => given === name || given === source)?.path;
  if (path === undefined)
    throw new ServiceError({
      code: "invalid",
      message:
        `--model is ${JSON.stringify(given)}: no such folder, file or added model. ` +
        `It must be a folder in the Hugging Face layout, a GGUF file, ${builtIn}, or a model that \`hone models add\` added to the data folder (--data); with --url, a base model of that server.`,
    });
  const baseModel = nameOf(given);
  return { baseModel, serverFlags: { model: `${baseModel}=${path}`, "built-in-model": "off" }, task };
}

/** Returns the last part of a path or name, converted to a valid name for a base model. */
function nameOf(path: string): string {
  return basename(resolve(path))
    .replace(/\.gguf$/i, "")
    .replaceAll(/[^\w.-]/g, "-")
    .slice(0, 128);
}
