// List of the registered logits processors: the built-in ones and those that the operator names in the settings. This
// module does not load them.
import { resolve } from "node:path";
import { invalid, quoted, type ServiceError } from "../../../base/domain/service-error.ts";

/** A processor that an operator has registered. */
export interface Registration {
  readonly name: string;
  /** Absolute path of the processor's module. */
  readonly file: string;
}

export const includedNames = ["no-repeat-ngram", "thinking-budget"] as const;

const namePattern = /^[\w.:-]{1,100}$/;

/**
 * Reads the setting that registers processors, a list of `name=file`.
 *
 * @throws ServiceError `invalid` for a malformed entry, and for a name that is taken
 */
export function readRegistrations(entries: readonly string[]): readonly Registration[] {
  const names = new Set<string>(includedNames);
  return entries.map((entry) => {
    const end = entry.indexOf("=");
    const name = entry.slice(0, end);
    const file = entry.slice(end + 1);
    if (end < 0 || !namePattern.test(name) || file === "") {
      throw refusal(
        `has ${quoted(entry)}; each must be name=file, the name of letters, digits and "._:-", at most 100`,
      );
    }
    if (names.has(name))
      throw refusal(
        `names ${quoted(name)} twice, or is the name of a built-in processor; choose another name`,
      );
    names.add(name);
    return { name, file: resolve(file) };
  });
}

/** Returns the processor names that requests may use: the built-in ones and those of the operator. */
export function processorNames(registrations: readonly Registration[]): readonly string[] {
  return [...includedNames, ...registrations.map(({ name }) => name)];
}

function refusal(what: string): ServiceError {
  return invalid(`engine.logitsProcessors ${what}.`);
}
