// `hone keys`: create, list, change, rotate and revoke API keys. The commands access the data folder's database
// directly, so they need no key.
import type { Command } from "commander";
import { systemClock } from "../../../base/domain/clock.ts";
import { printResult, printRows } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { limitFlags, limitsOf, type LimitFlags } from "./limit-flags.ts";
import { readLength, readTime } from "./read-time.ts";

interface KeyFlags extends JsonFlag {
  readonly data?: string;
}

interface ChoiceFlags extends KeyFlags, LimitFlags {
  readonly name?: string;
  readonly expires?: string;
  readonly scopes?: readonly string[];
  readonly project?: string;
}

const columns = [
  "id",
  "name",
  "entity",
  "owner",
  "role",
  "scopes",
  "project",
  "created_at",
  "last_used_at",
  "expires_at",
  "revoked_at",
] as const;

export function addKeysCommand(program: Command): void {
  const keys = program
    .command("keys")
    .description("Manage API keys on the server's machine, in its data folder.");
  const withData = (command: Command): Command =>
    command
      .option("--data <folder>", "the server's data folder (HONE_DATA; default .hone)")
      .option("--json", "print JSON");
  /** Adds the flags of a key. `suffix` returns the end of a flag's description, from the default for a new key. */
  const withChoices = (command: Command, suffix: (usual: string) => string): Command =>
    withData(command)
      .option(
        "--name <name>",
        `label of the key, such as the name of the program that uses it${suffix("none")}`,
      )
      .option(
        "--expires <when>",
        `expiry: a time (ISO 8601), or a duration such as 30d or 12h${suffix("never")}`,
      )
      .option("--scopes <scopes...>", `scopes of the key: chat, train, feedback, read${suffix("all")}`)
      .option("--project <project>", `the only project that the key can access${suffix("all")}`);
  const withLimits = (command: Command, suffix: (usual: string) => string): Command =>
    limitFlags.reduce(
      (limited, [flag, about]) => limited.option(flag, `${about}${suffix("unlimited")}`),
      command,
    );
  const ofNewKey = (usual: string): string => ` (default: ${usual})`;
  const ofChange = (usual: string): string =>
    ({ all: "; `none` allows all", unlimited: "; `none` removes the limit" })[usual] ?? "; `none` removes it";
  withLimits(
    withChoices(keys.command("create").description("Create a key; its secret is shown only once."), ofNewKey),
    ofNewKey,
  )
    .option(
      "--entity <entity>",
      "entity whose projects and models the key can access (default: the server's entity)",
    )
    .option(
      "--owner <name>",
      "owner of the key, who is stored as the author of feedback sent with it (default: the entity)",
    )
    .option("--role <role>", "role of the key: member or admin", "member")
    .action(create);
  withData(
    keys
      .command("list", { isDefault: true })
      .description("List keys, without their secrets, which the server does not store."),
  ).action(list);
  withLimits(
    withChoices(
      keys
        .command("change <id>")
        .description(
          "Change the name, expiry, scopes, project or limits of a key. Changes take effect with the next request.",
        ),
      ofChange,
    ),
    ofChange,
  ).action(change);
  withLimits(
    withData(
      keys
        .command("limit <entity>")
        .description(
          "Change the limits of an entity, which apply to all its keys together; without flags, show them.",
        ),
    ),
    ofChange,
  ).action(limit);
  withData(
    keys.command("rotate <id>").description("Rotate a key's secret; the new secret is shown only once."),
  )
    .option(
      "--grace <length>",
      "duration for which the old secret remains valid, such as 12h; 0 invalidates it immediately",
      "1d",
    )
    .action(rotate);
  withData(keys.command("revoke <id>").description("Revoke a key immediately.")).action(revoke);
}

async function create(
  flags: ChoiceFlags & { readonly entity?: string; readonly owner?: string; readonly role: string },
): Promise<void> {
  const { createKey, shownKey } = await import("../../server/keys.ts");
  const { key, secret } = await createKey({ ...flags, choices: choicesOf(flags) });
  printResult({ ...shownKey(key), key: secret }, secret, flags);
}

async function list(flags: KeyFlags): Promise<void> {
  const { listKeys, shownKey } = await import("../../server/keys.ts");
  const shown = (await listKeys(flags)).map((key) =>
    flags.json === true ? shownKey(key) : { ...shownKey(key), scopes: key.scopes?.join(",") },
  );
  printRows(shown, { ...flags, columns });
}

async function change(id: string, flags: ChoiceFlags): Promise<void> {
  const { changeKey, shownKey } = await import("../../server/keys.ts");
  const key = await changeKey(id, { ...flags, choices: choicesOf(flags) });
  printResult(shownKey(key), `changed ${id}`, flags);
}

async function rotate(id: string, flags: KeyFlags & { readonly grace: string }): Promise<void> {
  const { rotateKey, shownKey } = await import("../../server/keys.ts");
  const { key, secret } = await rotateKey(id, { ...flags, graceSeconds: readLength("--grace", flags.grace) });
  printResult({ ...shownKey(key), key: secret }, secret, flags);
}

async function revoke(id: string, flags: KeyFlags): Promise<void> {
  const { revokeKey } = await import("../../server/keys.ts");
  await revokeKey(id, flags);
  printResult({ revoked: id }, `revoked ${id}`, flags);
}

async function limit(entity: string, flags: KeyFlags & LimitFlags): Promise<void> {
  const { changeEntityLimits } = await import("../../server/keys.ts");
  const limits = await changeEntityLimits(entity, { ...flags, limits: limitsOf(flags) });
  printRows([limits], { ...flags, columns: Object.keys(limits) });
}

/** Converts the flags to a key's settings. The value `none` removes a setting or a limit. */
function choicesOf({ name, expires, scopes, project, ...limits }: ChoiceFlags) {
  const orNone = (text: string): string | null => (text === "none" ? null : text);
  // Scopes may be separate words or a comma-separated list.
  const words = scopes?.flatMap((text) => text.split(",")).filter((word) => word !== "");
  return {
    ...(name === undefined ? {} : { name: orNone(name) }),
    ...(expires === undefined ? {} : { expiresAt: readTime("--expires", expires, systemClock.now()) }),
    ...(words === undefined ? {} : { scopes: words.join() === "none" ? null : words }),
    ...(project === undefined ? {} : { project: orNone(project) }),
    ...limitsOf(limits),
  };
}
