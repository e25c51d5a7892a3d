// Access keys as rows.
import type { Insertable, Selectable, Updateable } from "kysely";
import type { AccessKey, KeyChoices, KeyRole } from "../../../base/domain/access.ts";
import type { KeyScope } from "../../../base/domain/keys/key-scope.ts";
import type { AccessKeyTable } from "../schema.ts";
import { limitColumns, limitsOf } from "./limit-columns.ts";

export function rowOf(key: AccessKey): Omit<Insertable<AccessKeyTable>, "sequence"> {
  return {
    id: key.id,
    entity: key.entity,
    role: key.role,
    owner: key.owner,
    secret_hash: key.secretHash,
    created_at: key.createdAt.toISOString(),
    revoked_at: textOf(key.revokedAt),
    last_used_at: textOf(key.lastUsedAt),
    previous_hash: key.previous?.secretHash ?? null,
    previous_until: textOf(key.previous?.until ?? null),
    name: jsonOf(key.name),
    expires_at: textOf(key.expiresAt),
    scopes: jsonOf(key.scopes),
    project: key.project,
    ...limitColumns(key),
  };
}

/** The columns of those choices that are named. */
export function choiceColumns(choices: Partial<KeyChoices>): Updateable<AccessKeyTable> {
  const { name, expiresAt, scopes, project } = choices;
  return {
    ...(name === undefined ? {} : { name: jsonOf(name) }),
    ...(expiresAt === undefined ? {} : { expires_at: textOf(expiresAt) }),
    ...(scopes === undefined ? {} : { scopes: jsonOf(scopes) }),
    ...(project === undefined ? {} : { project }),
    ...limitColumns(choices),
  };
}

export function keyOf(row: Selectable<AccessKeyTable>): AccessKey {
  return {
    id: row.id,
    entity: row.entity,
    // These columns hold what `rowOf` wrote.
    role: row.role as KeyRole,
    scopes: row.scopes === null ? null : (JSON.parse(row.scopes) as readonly KeyScope[]),
    name: row.name === null ? null : (JSON.parse(row.name) as string),
    owner: row.owner,
    project: row.project,
    ...limitsOf(row),
    secretHash: row.secret_hash,
    previous:
      row.previous_hash === null || row.previous_until === null
        ? null
        : { secretHash: row.previous_hash, until: new Date(row.previous_until) },
    createdAt: new Date(row.created_at),
    expiresAt: dateOf(row.expires_at),
    lastUsedAt: dateOf(row.last_used_at),
    revokedAt: dateOf(row.revoked_at),
  };
}

function textOf(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}

function jsonOf(value: string | readonly string[] | null): string | null {
  return value === null ? null : JSON.stringify(value);
}
