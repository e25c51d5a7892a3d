// `hone keys`: make, list and revoke API keys, in the data folder itself, so that it works without a key.
import type { Command } from "commander";
import { printRows } from "../connection.ts";

interface KeyFlags {
  readonly data?: string;
  readonly json?: boolean;
}

export function addKeysCommand(program: Command): void {
  const keys = program.command("keys").description("API keys of the server whose data folder this is.");
  const withData = (command: Command): Command =>
    command
      .option("--data <folder>", "the server's data folder (HONE_DATA; default .hone)")
      .option("--json", "as JSON");
  withData(keys.command("create").description("Make a key; it is shown once."))
    .option("--entity <entity>", "whose projects and models it reaches (default: the server's entity)")
    .option("--owner <name>", "a name for people; feedback carries it as the author (default: the entity)")
    .option("--role <role>", "member or admin", "member")
    .action(
      async (
        flags: KeyFlags & { readonly entity?: string; readonly owner?: string; readonly role: string },
      ) => {
        const { createKey } = await import("../../server/keys.ts");
        const { key, secret } = await createKey(flags);
        if (flags.json === true)
          process.stdout.write(
            `${JSON.stringify({ id: key.id, entity: key.entity, owner: key.owner, role: key.role, key: secret }, null, 2)}\n`,
          );
        else process.stdout.write(`${secret}\n`);
      },
    );
  withData(
    keys.command("list", { isDefault: true }).description("List the keys; the secrets are not kept."),
  ).action(async (flags: KeyFlags) => {
    const { listKeys } = await import("../../server/keys.ts");
    const rows = (await listKeys(flags)).map((key) => ({
      id: key.id,
      entity: key.entity,
      owner: key.owner,
      role: key.role,
      created_at: key.createdAt.toISOString(),
      revoked_at: key.revokedAt?.toISOString() ?? null,
    }));
    printRows(rows, { ...flags, columns: ["id", "entity", "owner", "role", "created_at", "revoked_at"] });
  });
  withData(keys.command("revoke <id>").description("Revoke a key, at once.")).action(
    async (id: string, flags: KeyFlags) => {
      const { revokeKey } = await import("../../server/keys.ts");
      await revokeKey(id, flags);
      process.stdout.write(flags.json === true ? `${JSON.stringify({ revoked: id })}\n` : `revoked ${id}\n`);
    },
  );
}
