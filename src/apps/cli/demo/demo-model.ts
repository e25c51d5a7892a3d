// Which model the demo trains, by what its user typed: the built-in one, one that was added, a folder or file of weights that a
// server of the demo's own serves, or a base model of a running server. Reads nothing of the weights.
import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** A model, and what suits it. */
export interface DemoModel {
  /** Its name at the server. */
  readonly baseModel: string;
  /** The flags of a server that serves it. */
  readonly serverFlags: Readonly<Record<string, string>>;
  /** The task that shows most with it. */
  readonly task: "words" | "sentiment";
}

const builtIn = "hone-tiny";

/** A model that `hone models add` has put into a data folder. */
export type AddedModel = Readonly<Record<"name" | "source" | "path", string>>;

/**
 * @param given a path, or a name
 * @param added what was added; null where a running server has the model
 * @throws ServiceError `invalid` where there is none
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

/** What stands last in the path, as the name of a base model may be. */
function nameOf(path: string): string {
  return basename(resolve(path))
    .replace(/\.gguf$/i, "")
    .replaceAll(/[^\w.-]/g, "-")
    .slice(0, 128);
}
