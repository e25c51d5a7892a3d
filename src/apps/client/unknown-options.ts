// Refuses unknown options, which plain JavaScript would silently ignore. Pure.
import { HoneError } from "./hone-error.ts";

/**
 * Throws an error for an option that is not among `names`.
 *
 * @param of function or class that takes the options, as named in the message
 * @throws HoneError `invalid` that names the first unknown option, and the option that was probably meant
 */
export function refuseUnknown(options: object, names: readonly string[], of: string): void {
  const unknown = Object.entries(options).find(
    ([name, value]) => value !== undefined && !names.includes(name),
  );
  if (unknown === undefined) return;
  const [name] = unknown;
  const meant = names.find((known) => plain(known) === plain(name));
  const cure = meant === undefined ? `it has ${names.join(", ")}.` : `did you mean ${meant}?`;
  throw new HoneError({ code: "invalid", param: name, message: `${of} has no option ${name}; ${cure}` });
}

/** Returns the name in lower case without underscores, because names usually differ only in these. */
function plain(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}
