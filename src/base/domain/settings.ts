// Settings as data. Each folder describes its settings in one record: for each setting, its default, its range and a
// sentence. From these records, the composition root reads flags, environment variables and the settings file; this
// module reads nothing.
import { unreachable } from "./assert.ts";
import { invalid, type ServiceError } from "./service-error.ts";

/** Properties of the machine on which a server runs. */
export interface Machine {
  readonly coreCount: number;
  /** Memory limit of this process in bytes. */
  readonly memoryBytes: number;
  /** Memory limit for base models in bytes; absent if the operator has set none. */
  readonly modelBytes?: number;
}

/** A setting: its kind of value, default, range and description. */
export type Setting = SettingValue & {
  /** Description of the setting, in one sentence. */
  readonly about: string;
  /** True for the few settings that most people need. Help texts show these first. */
  readonly isEssential?: true;
  /**
   * True for a secret text, which is never shown. Its value may also be `file:<path>`: the secret is then read from
   * that file.
   */
  readonly isSecret?: true;
};

/** Kind of a setting's value. A `flag` is true or false, and a `list` is a list of texts. */
type SettingValue =
  | {
      readonly kind: "integer" | "number";
      readonly default: number;
      readonly min: number;
      readonly max: number;
      /** If the setting is 0, computes the value in effect from the machine's properties. */
      readonly byMachine?: (machine: Machine) => number;
    }
  /** A text. If its default is null, the value may also be null, which means that the setting is not set. */
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

/** Types of the settings' values, by name of the setting. */
export type SettingsOf<Schema extends SettingsSchema> = {
  readonly [Name in keyof Schema]: ValueOf<Schema[Name]>;
};

/** Returns the defaults of all settings in the schema. */
export function defaultsOf<Schema extends SettingsSchema>(schema: Schema): SettingsOf<Schema> {
  const values = Object.fromEntries(Object.entries(schema).map(([name, setting]) => [name, setting.default]));
  // Safe cast: the object has the schema's keys, and the default of each.
  return values as SettingsOf<Schema>;
}

/** Settings of one part of the server, such as HTTP. */
export interface Section<Schema extends SettingsSchema, Fixed extends object> {
  /** Settings that operators can change. */
  readonly schema: Schema;
  /** Returns all settings of the section: the given values, and for all other settings the defaults and constants. */
  with(given?: Partial<SettingsOf<Schema> & Fixed>): SettingsOf<Schema> & Readonly<Fixed>;
}

/** Type of all settings of a section. */
export type SettingsIn<S extends Section<SettingsSchema, object>> = ReturnType<S["with"]>;

/**
 * Creates the section for one part of the server.
 *
 * @param fixed constants, which only embedding programs and tests override
 * @param following computes further settings from the schema's settings and the constants
 */
export function section<
  Schema extends SettingsSchema,
  Fixed extends object = object,
  Following extends object = object,
>(
  schema: Schema,
  // Safe cast: this default is only used if the type parameter has its own default, which has no members.
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
 * Checks a value against its setting. The value may be parsed JSON or a text.
 *
 * @param name name of the value in its source, for the message
 * @throws ServiceError `invalid`, with the problem, the value and the limit
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
