// Flags that set the limits of a key or an entity.
import { type KeyLimits, limitNames } from "../../../base/domain/keys/limits.ts";
import { invalid } from "../../../base/domain/service-error.ts";
import { snakeCase } from "../../../base/domain/text/names.ts";

export type LimitFlags = { readonly [Limit in keyof KeyLimits]?: string };

/** Flags and their descriptions. */
export const limitFlags: readonly (readonly [flag: string, about: string])[] = [
  ["--requests-per-minute <count>", "maximum number of requests to models per minute"],
  ["--tokens-per-minute <count>", "maximum number of prompt and answer tokens per minute"],
  ["--concurrent-requests <count>", "maximum number of requests to models at the same time"],
  ["--queue-percent <percent>", "maximum percentage of the places in each model's request queue on a server"],
  ["--queued-jobs <count>", "maximum number of queued training jobs"],
];

/**
 * Returns the limits that the flags set; null for `none`, which removes a limit.
 *
 * @throws ServiceError `invalid` for a value other than a whole number or `none`
 */
export function limitsOf(flags: LimitFlags): Partial<KeyLimits> {
  const named = limitNames.flatMap((limit) => {
    const text = flags[limit];
    return text === undefined ? [] : [[limit, limitIn(limit, text)] as const];
  });
  return Object.fromEntries(named);
}

function limitIn(limit: keyof KeyLimits, text: string): number | null {
  if (text === "none") return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const flag = `--${snakeCase(limit).replaceAll("_", "-")}`;
  const message = `${flag} is ${JSON.stringify(text)}; it must be a whole number, or none.`;
  throw invalid(message);
}
