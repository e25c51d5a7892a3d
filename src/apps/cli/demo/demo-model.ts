// Finds the model that the demo trains: the built-in one, an added one, a folder or file for the demo's own server, or
// a base model of a running server. Does not read weights.
import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** A model with suitable settings. */
export interface DemoModel {
  /** Its name on the server. */
  readonly baseModel: string;
  /** Flags for a server that serves it. */
  readonly serverFlags: Readonly<Record<string, string>>;
  /** Most suitable task. */
  readonly task: "words" | "sentiment";
}

const builtIn = "hone-tiny";

/** A model that `hone models add` put into a data folder. */
export type AddedModel = Readonly<Record<"name" | "source" | "path", string>>;

/**
 * @param given a path, or a name
 * @param added the added models; null if a running server has the model
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

/** Returns the last part of a path as a valid name of a base model. */
function nameOf(path: string): string {
  return basename(resolve(path))
    .replace(/\.gguf$/i, "")
    .replaceAll(/[^\w.-]/g, "-")
    .slice(0, 128);
}
