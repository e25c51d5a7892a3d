// `hone keys`: create, list, change, rotate and revoke API keys. The commands access the data folder's database
// directly, so they need no key.
import type { Command } from "commander";
import { systemClock } from "../../../base/domain/clock.ts";
import { printResult, printRows, type JsonFlag } from "../connection.ts";
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
  const withChoices = (command: Command, none: string): Command =>
    withData(command)
      .option("--name <name>", `name of the program that uses the key, as a label${none}`)
      .option("--expires <when>", `expiry: a time, or a length such as 30d or 12h${none}`)
      .option("--scopes <scopes...>", `scopes of the key: chat, train, feedback, read (default: all)${none}`)
      .option("--project <project>", `the only project of its entity that it can access${none}`);
  const withLimits = (command: Command, none: string): Command =>
    limitFlags.reduce((limited, [flag, about]) => limited.option(flag, `${about}${none}`), command);
  withLimits(withChoices(keys.command("create").description("Create a key; it is shown only once."), ""), "")
    .option(
      "--entity <entity>",
      "entity whose projects and models it can access (default: the server's entity)",
    )
    .option("--owner <name>", "name of the owner; feedback names it as the author (default: the entity)")
    .option("--role <role>", "member or admin", "member")
    .action(create);
  withData(
    keys.command("list", { isDefault: true }).description("List keys; secrets are not stored."),
  ).action(list);
  withLimits(
    withChoices(
      keys.command("change <id>").description("Change the limits of a key, starting with its next request."),
      "; `none` removes the limit",
    ),
    "; `none` removes the limit",
  ).action(change);
  withLimits(
    withData(
      keys
        .command("limit <entity>")
        .description("Change the limits shared by all keys of an entity; without flags, show them."),
    ),
    "; `none` removes the limit",
  ).action(limit);
  withData(keys.command("rotate <id>").description("Rotate a key's secret; the new one is shown only once."))
    .option("--grace <length>", "how long the old secret stays valid, such as 12h or 0", "1d")
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
