// Which model the demo trains, by what its user typed: the built-in one, a folder or file of weights that a server of its own
// serves, or a base model of a running server. Reads nothing of the weights.
import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { ServiceError } from "../../domain/service-error.ts";

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

/**
 * @param given a path, or a name
 * @param isServed whether a running server has it; else it has to be a path, or the built-in model
 * @throws ServiceError `invalid` where nothing lies at the path
 */
export function demoModel(given: string, isServed: boolean): DemoModel {
  const task = given === builtIn ? "words" : "sentiment";
  if (isServed || given === builtIn) return { baseModel: given, serverFlags: {}, task };
  if (!existsSync(given))
    throw new ServiceError({
      code: "invalid",
      message: `--model is ${JSON.stringify(given)}, and there is no such folder or file; it must be a folder in the Hugging Face layout, a GGUF file, or ${builtIn}. With --url it may be a base model of that server.`,
    });
  const baseModel = nameOf(given);
  return { baseModel, serverFlags: { model: `${baseModel}=${given}`, "built-in-model": "off" }, task };
}

/** What stands last in the path, as the name of a base model may be. */
function nameOf(path: string): string {
  return basename(resolve(path))
    .replace(/\.gguf$/i, "")
    .replaceAll(/[^\w.-]/g, "-")
    .slice(0, 128);
}
