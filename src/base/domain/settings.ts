// Settings as data: each folder describes its own in one record (default, range, one sentence), and the
// composition root reads flags, environment and file against them. Knows nothing of where values come from.
import { unreachable } from "./assert.ts";
import { invalid, type ServiceError } from "./service-error.ts";

/** What a server runs on. */
export interface Machine {
  readonly coreCount: number;
  /** What this process may take of it at most. */
  readonly memoryBytes: number;
  /** What base models may take of that, where the operator said so. */
  readonly modelBytes?: number;
}

/** One setting. */
export type Setting = SettingValue & {
  /** One sentence for people. */
  readonly about: string;
  /** Set for the few that most people need, which are shown first. */
  readonly isEssential?: true;
  /** Set for a text that nobody is shown, and that may be given as `file:<path>` of a file with it. */
  readonly isSecret?: true;
};

/** `flag` values are true or false; `list` is a list of texts. */
type SettingValue =
  | {
      readonly kind: "integer" | "number";
      readonly default: number;
      readonly min: number;
      readonly max: number;
      /** What stands in the place of a zero. */
      readonly byMachine?: (machine: Machine) => number;
    }
  /** Where the default is null, null may also be given, and stands for "not set". */
  | { readonly kind: "text"; readonly default: string | null }
  | { readonly kind: "choice"; readonly default: string; readonly choices: readonly string[] }
  | { readonly kind: "flag"; readonly default: boolean }
  | { readonly kind: "list"; readonly default: readonly string[] };

export type SettingsSchema = Readonly<Record<string, Setting>>;

type ValueOf<S extends Setting> = S extends { readonly kind: "integer" | "number" }
  ? number
  : S extends { readonly kind: "flag" }
    ? boolean
    : S extends { readonly kind: "list" }
      ? readonly string[]
      : S extends { readonly kind: "choice"; readonly choices: readonly (infer Choice)[] }
        ? Choice
        : S extends { readonly kind: "text"; readonly default: string }
          ? string
          : string | null;

/** The values a schema describes. */
export type SettingsOf<Schema extends SettingsSchema> = {
  readonly [Name in keyof Schema]: ValueOf<Schema[Name]>;
};

/** The schema's defaults. */
export function defaultsOf<Schema extends SettingsSchema>(schema: Schema): SettingsOf<Schema> {
  const values = Object.fromEntries(Object.entries(schema).map(([name, setting]) => [name, setting.default]));
  // The record is built from the schema's own keys and kinds.
  return values as SettingsOf<Schema>;
}

/** The settings of one part of the server. */
export interface Section<Schema extends SettingsSchema, Fixed extends object> {
  /** Settings that operators set. */
  readonly schema: Schema;
  /** Returns the part's settings: defaults and constants, with the given values in their place. */
  with(given?: Partial<SettingsOf<Schema> & Fixed>): SettingsOf<Schema> & Readonly<Fixed>;
}

/** All settings of a section. */
export type SettingsIn<S extends Section<SettingsSchema, object>> = ReturnType<S["with"]>;

/**
 * Makes a section.
 *
 * @param fixed constants, which only embedders and tests replace
 * @param following returns settings that follow from those
 */
export function section<
  Schema extends SettingsSchema,
  Fixed extends object = object,
  Following extends object = object,
>(
  schema: Schema,
  // Nothing is a value of any type without members, which the defaults of the type parameters are.
  fixed: Fixed = {} as Fixed,
  following: (set: SettingsOf<Schema> & Fixed) => Following = () => ({}) as Following,
): Section<Schema, Fixed & Following> {
  const defaults = defaultsOf(schema);
  return {
    schema,
    with: (given) => {
      const set = { ...fixed, ...defaults, ...given };
      return { ...following(set), ...set };
    },
  };
}

/**
 * Checks one value, given as parsed JSON or as text, against its setting.
 *
 * @param name how the value was named where it was given, for the message
 * @throws ServiceError `invalid`: what was wrong, the value, the limit
 */
export function readSetting(
  name: string,
  setting: Setting,
  value: unknown,
): number | string | boolean | readonly string[] | null {
  switch (setting.kind) {
    case "integer":
    case "number": {
      const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
      if (typeof number !== "number" || !Number.isFinite(number)) throw refusal(name, value, "a number");
      if (setting.kind === "integer" && !Number.isInteger(number))
        throw refusal(name, value, "a whole number");
      if (number < setting.min || number > setting.max)
        throw refusal(name, value, `between ${setting.min} and ${setting.max}`);
      return number;
    }
    case "text":
      if (typeof value === "string" || (value === null && setting.default === null)) return value;
      throw refusal(name, value, "a text");
    case "choice":
      if (typeof value !== "string" || !setting.choices.includes(value))
        throw refusal(name, value, `one of ${setting.choices.join(", ")}`);
      return value;
    case "flag":
      if (value === true || value === "true" || value === "on" || value === "1") return true;
      if (value === false || value === "false" || value === "off" || value === "0") return false;
      throw refusal(name, value, "true or false");
    case "list":
      if (typeof value === "string")
        return value
          .split(",")
          .map((item) => item.trim())
          .filter((item) => item !== "");
      if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
      throw refusal(name, value, "a list of texts");
    default:
      return unreachable(setting);
  }
}

function refusal(name: string, value: unknown, expected: string): ServiceError {
  return invalid(`${name} is ${JSON.stringify(value)}; it must be ${expected}.`);
}
