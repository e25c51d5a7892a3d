// The configuration, which is read once, frozen, and passed down. Flags override environment variables, which override
// `hone.json` in the data folder, which overrides the defaults. Only this module reads the environment; each folder
// defines its own settings.
import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { isBucketUrl, readBucketUrl } from "../../store/artifacts/s3/bucket-place.ts";
import { isLoopback } from "../../base/domain/loopback.ts";
import { checkUserSettings } from "../../access/users/signed-in-users.ts";
import { requirePlainFile } from "../../base/domain/transient-errors/plain-file.ts";
import { invalid, ServiceError } from "../../base/domain/service-error.ts";
import { defaultsOf, readSetting, type Setting, type SettingsSchema } from "../../base/domain/settings.ts";
import { isPostgresUrl, shownUrl } from "../../store/database/postgres/postgres-url.ts";
import {
  readOpenTelemetry,
  type OpenTelemetrySettings,
} from "../../base/telemetry/open-telemetry/environment.ts";
import { removedSettings } from "./removed-settings.ts";
import { sections, settingGroups, thisMachine, type OperatorSettings, type SectionName } from "./settings.ts";
import { remoteTrainer } from "./remote-trainer.ts";

export type HoneConfig = OperatorSettings & {
  /**
   * Settings for the export of traces, metrics and logs, read from OpenTelemetry's standard environment variables; null
   * if nothing is exported.
   */
  readonly openTelemetry: OpenTelemetrySettings | null;
};

/** A setting with its flag and its environment variable. */
export interface SettingSpelling {
  /** Title of the setting's group in the documentation and the help. */
  readonly group: string;
  readonly section: SectionName;
  readonly name: string;
  /** Flag, such as `--engine-threads`. */
  readonly flag: string;
  /** Environment variable, such as `HONE_ENGINE_THREADS`. */
  readonly variable: string;
  readonly setting: Setting;
}

/**
 * Returns all settings in the order of their groups. The flags and variables of the section `server` have no section
 * name.
 */
export function allSettings(): readonly SettingSpelling[] {
  return Object.entries(settingGroups).flatMap(([group, keys]) =>
    keys.map((key) => {
      const words = spelledKey(key);
      const [section, name] = key.split(".") as [SectionName, string];
      const setting = (sections[section].schema as SettingsSchema)[name];
      return { group, section, name, flag: `--${words}`, variable: variableOf(words), setting };
    }),
  );
}

/** Returns the flags of removed settings. */
export function removedFlags(): readonly string[] {
  return [...removedSettings.keys()].map((key) => `--${spelledKey(key)}`);
}

/** Values from a command line, by flag name without the dashes (`engine-threads`). */
export type FlagValues = Readonly<Record<string, unknown>>;

/**
 * Reads the configuration and computes machine-dependent defaults.
 *
 * @param environment empty variables count as unset, except for lists
 * @throws ServiceError `invalid` that names the setting, its value and its range; unknown keys of `hone.json` and
 * unknown `HONE_*` variables are refused by name
 */
export function readConfig(
  flags: FlagValues,
  environment: NodeJS.ProcessEnv = process.env,
  machine = thisMachine(),
): HoneConfig {
  const spellings = allSettings();
  refuseRemoved(flags, environment);
  refuseUnknownVariables(spellings, environment);
  const values = Object.fromEntries(
    (Object.keys(sections) as SectionName[]).map((section) => [
      section,
      { ...defaultsOf(sections[section].schema as SettingsSchema) },
    ]),
  ) as Record<SectionName, Record<string, unknown>>;
  const dataFolder = resolve(
    textOf(flags["data"]) ?? filled(environment, "HONE_DATA") ?? sections.server.schema.data.default,
  );
  const file = readConfigFile(join(dataFolder, "hone.json"), spellings);
  for (const spelling of spellings) {
    const { section, name, flag, variable, setting } = spelling;
    const given: readonly (readonly [string, unknown])[] = [
      [flag, flags[flag.slice(2)]],
      // For a list, an empty variable is a valid value: the empty list.
      [variable, setting.kind === "list" ? environment[variable] : filled(environment, variable)],
      [`hone.json: ${section}.${name}`, file[section]?.[name]],
    ];
    const first = given.find(([, value]) => value !== undefined);
    if (first === undefined) continue;
    const value = readSetting(first[0], setting, first[1]);
    values[section][name] = setting.isSecret && typeof value === "string" ? secretIn(first[0], value) : value;
  }
  // Safe cast: validated as an integer ≥ 0.
  const modelBytes = (values.models["memoryBytes"] as number) || Infinity;
  for (const { section, name, setting } of spellings) {
    if ("byMachine" in setting && values[section][name] === 0)
      values[section][name] = setting.byMachine?.({ ...machine, modelBytes });
  }
  values.server["data"] = dataFolder;
  const blobs = textOf(values.server["blobs"]);
  if (blobs !== undefined) values.server["blobs"] = blobsPlace(blobs);
  // Safe cast: built from the sections' own schemas.
  const config = { ...values, openTelemetry: readOpenTelemetry(environment) } as unknown as HoneConfig;
  refuseUnsafe(config);
  for (const section of Object.values(config)) Object.freeze(section);
  return Object.freeze(config);
}

/**
 * Returns the absolute path of a folder, or the URL of a bucket.
 *
 * @throws ServiceError `invalid` for any other value
 */
function blobsPlace(given: string): string {
  if (isBucketUrl(given)) {
    readBucketUrl(given);
    return given;
  }
  if (given !== "" && !/^[a-z][a-z\d+.-]+:\/\//i.test(given)) return resolve(given);
  throw invalid(
    `HONE_BLOBS is ${JSON.stringify(given)}; it must be a folder or a bucket (s3://<bucket>/<prefix>) that all servers on the database can access.`,
  );
}

/**
 * Returns a variable's value; undefined if it is unset or empty. Empty counts as unset because Compose files pass on
 * unset variables as empty ones.
 */
function filled(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  return environment[name] === "" ? undefined : environment[name];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Returns a flag's name without the dashes. */
function spelled(section: string, name: string): string {
  const words = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return section === "server" ? words : `${section}-${words}`;
}

function variableOf(words: string): string {
  return `HONE_${words.toUpperCase().replaceAll("-", "_")}`;
}

/** Returns the flag's name without the dashes for a key `section.name`. */
function spelledKey(key: string): string {
  const [section = "", name = ""] = key.split(".");
  return spelled(section, name);
}

function refuseRemoved(flags: FlagValues, environment: NodeJS.ProcessEnv): void {
  for (const [key, instead] of removedSettings) {
    const words = spelledKey(key);
    const given = flags[words] === undefined ? variableOf(words) : `--${words}`;
    if (flags[words] === undefined && environment[given] === undefined) continue;
    throw invalid(`${given} is no longer a setting: ${instead}.`);
  }
}

function refuseUnknownVariables(spellings: readonly SettingSpelling[], environment: NodeJS.ProcessEnv): void {
  const ofCommands = ["HONE_URL", "HONE_BASE_URL", "HONE_TO_API_KEY"];
  const known = new Set([...spellings.map((spelling) => spelling.variable), ...ofCommands]);
  const unknown = Object.keys(environment).filter((name) => name.startsWith("HONE_") && !known.has(name));
  if (unknown.length > 0) {
    throw invalid(
      `Unknown environment variable ${unknown.join(", ")}; \`hone serve --help-all\` lists those that exist.`,
    );
  }
}

type ConfigFile = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;

function readConfigFile(path: string, spellings: readonly SettingSpelling[]): ConfigFile {
  if (!existsSync(path)) return {};
  requirePlainFile(path, statSync(path));
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new ServiceError({
      code: "invalid",
      message: `${path} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause,
    });
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw invalid(`${path} must hold an object of sections, such as {"server": {"port": 8000}}.`);
  }
  const file = parsed as ConfigFile;
  for (const [section, settings] of Object.entries(file)) {
    for (const name of Object.keys(settings ?? {})) {
      if (!spellings.some((spelling) => spelling.section === section && spelling.name === name)) {
        const instead = removedSettings.get(`${section}.${name}`);
        const what =
          instead === undefined
            ? `there is no setting ${section}.${name}; \`hone serve --print-config\` shows those that exist`
            : `${section}.${name} is no longer a setting: ${instead}`;
        throw invalid(`${path}: ${what}.`);
      }
    }
  }
  return file;
}

function refuseUnsafe(config: HoneConfig): void {
  const { auth, host, databaseUrl, roles } = config.server;
  checkUserSettings(config.users);
  remoteTrainer(config.server);
  if (auth === "off" && (config.users.header !== null || config.users.issuer !== null)) {
    throw new ServiceError({
      code: "invalid",
      message:
        "HONE_AUTH=off gives everyone admin access, which makes users.header and users.issuer useless; leave authentication on.",
    });
  }
  if (auth === "off" && !isLoopback(host)) {
    throw invalid(
      `HONE_AUTH=off is allowed only on a loopback address; the host is ${host}. Bind to 127.0.0.1 or leave authentication on.`,
    );
  }
  if (databaseUrl !== null && !databaseUrl.startsWith("file:") && !isPostgresUrl(databaseUrl)) {
    throw invalid(
      `HONE_DATABASE_URL is ${shownUrl(databaseUrl)}; it must be postgres://user:password@host/database, or file:<path> for SQLite.`,
    );
  }
  const given = JSON.stringify(roles.join(","));
  if (roles.length === 0 || !roles.every((role) => role === "serve" || role === "train")) {
    throw invalid(`HONE_ROLES is ${given}; it must be serve, train, or serve,train.`);
  }
  const isForMany = databaseUrl !== null && isPostgresUrl(databaseUrl);
  if (!isForMany && !(roles.includes("serve") && roles.includes("train"))) {
    throw invalid(
      `HONE_ROLES is ${given}, but no other server can use a SQLite database for the rest. Give it both roles, or use a PostgreSQL that servers share (HONE_DATABASE_URL).`,
    );
  }
}

/**
 * Returns a secret: the given text, or for `file:<path>` the content of that file.
 *
 * @throws ServiceError `invalid` if the file cannot be read; the message shows only the path
 */
function secretIn(name: string, given: string): string {
  if (!given.startsWith("file:")) return given;
  const path = given.slice("file:".length);
  let reason = "it is empty";
  try {
    requirePlainFile(path, statSync(path));
    const secret = readFileSync(path, "utf8").trim();
    if (secret !== "") return secret;
  } catch (cause) {
    reason = cause instanceof Error ? cause.message : String(cause);
  }
  throw invalid(`${name} names ${path}, which has no secret: ${reason}.`);
}

/** Returns the configuration for display, without secrets. */
export function redactedConfig(config: HoneConfig): object {
  const shown = (section: SectionName): object => {
    const schema: SettingsSchema = sections[section].schema;
    return Object.fromEntries(
      Object.entries(config[section]).map(([name, value]) => [
        name,
        schema[name].isSecret && value !== null ? "(set)" : value,
      ]),
    );
  };
  const { databaseUrl } = config.server;
  const settings = Object.fromEntries(
    (Object.keys(sections) as SectionName[]).map((section) => [section, shown(section)]),
  );
  return {
    ...settings,
    server: { ...settings["server"], databaseUrl: databaseUrl && shownUrl(databaseUrl) },
  };
}

/** Reads, from environment variables, the settings of commands that call a server. */
export function readClientSettings(environment: NodeJS.ProcessEnv = process.env): {
  readonly url: string;
  readonly apiKey: string | null;
  /** Key of the target server, for a command that calls two servers. */
  readonly toApiKey: string | null;
  readonly data: string;
} {
  const given = (name: string): string | undefined => filled(environment, name);
  return {
    url:
      given("HONE_BASE_URL") ??
      given("HONE_URL") ??
      `http://127.0.0.1:${given("HONE_PORT") ?? sections.server.schema.port.default}`,
    apiKey: given("HONE_API_KEY") ?? null,
    toApiKey: given("HONE_TO_API_KEY") ?? null,
    data: given("HONE_DATA") ?? sections.server.schema.data.default,
  };
}

/** Returns the environment variables of this process, for a program that a command starts. */
export function programEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env };
}

/** Reads the model hub's address and token from the same environment variables as the hub's own programs. */
export function readHubSettings(environment: NodeJS.ProcessEnv = process.env): {
  readonly endpoint: string;
  readonly token: string | null;
} {
  const given = (name: string): string | null => environment[name]?.trim() || null;
  return {
    endpoint: (given("HF_ENDPOINT") ?? "https://huggingface.co").replace(/\/+$/, ""),
    token: given("HF_TOKEN"),
  };
}

/**
 * Reads the object store's endpoint from AWS's environment variables; null to use the default, which is AWS or an
 * endpoint in the AWS configuration files.
 */
export function readStoreEndpoint(environment: NodeJS.ProcessEnv = process.env): string | null {
  const given = environment["AWS_ENDPOINT_URL_S3"]?.trim() || environment["AWS_ENDPOINT_URL"]?.trim();
  return given?.replace(/\/+$/, "") ?? null;
}

/** Adds variables to the environment of child processes; existing variables keep their values. */
export function addToChildEnvironment(
  variables: Readonly<Record<string, string>>,
  environment: NodeJS.ProcessEnv = process.env,
): void {
  for (const [name, value] of Object.entries(variables)) environment[name] ??= value;
}

/**
 * Removes secrets from the environment of child processes, which do not need them. Call after the configuration was
 * read.
 */
export function hideSecretsFromChildren(environment: NodeJS.ProcessEnv = process.env): void {
  const secrets = allSettings().flatMap(({ setting, variable }) => (setting.isSecret ? [variable] : []));
  secrets.push("HONE_DATABASE_URL", "HF_TOKEN");
  for (const name of secrets) delete environment[name];
}
