// Stores published objects and their versions.
import { sql, type Kysely, type Selectable, type Transaction } from "kysely";
import { present } from "../../../base/domain/assert.ts";
import { fittingCount, pageBytesMax } from "../../../base/domain/page.ts";
import type {
  ObjectDraft,
  ObjectFilter,
  ObjectOrder,
  ObjectStore,
  PublishedObject,
  VersionName,
} from "../../../base/domain/traces/published-object.ts";
import { sizeOf } from "../paging.ts";
import type { Schema } from "../schema.ts";
import type { PublishedObjectTable } from "./trace-tables.ts";

/** Creates the object store on a migrated database. */
export function createObjectStore(database: Kysely<Schema>): ObjectStore {
  return {
    create: (draft) => database.transaction().execute((transaction) => createVersion(transaction, draft)),
    find: async (projectId, { kind, name, version }) => {
      let rows = versionsOf(database, projectId).where("name", "=", name);
      if (kind !== null) rows = rows.where("kind", "=", kind);
      const row = await only(rows, version)
        .orderBy("created_at", "desc")
        .orderBy("version", "desc")
        .limit(1)
        .executeTakeFirst();
      return row === undefined ? null : objectOf(row);
    },
    list: async (projectId, filter, { limit, offset, bytesMax = pageBytesMax, order = byName }) => {
      const rows = inOrder(filtered(versionsOf(database, projectId), filter), order);
      const sizes = await rows
        .clearSelect()
        .select(sizeOf(["value"]).as("bytes"))
        .limit(limit)
        .offset(offset)
        .execute();
      const fitting = fittingCount(
        sizes.map(({ bytes }) => bytes),
        bytesMax,
      );
      if (fitting === 0) return [];
      return (await rows.limit(fitting).offset(offset).execute()).map(objectOf);
    },
    delete: async (projectId, name, digests) => {
      if (digests?.length === 0) return 0;
      let rows = database
        .deleteFrom("published_objects")
        .where("project_id", "=", projectId)
        .where("name", "=", name);
      if (digests !== null) rows = rows.where("digest", "in", digests);
      const { numDeletedRows } = await rows.executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
  };
}

const byName: ObjectOrder = { by: "name", isDescending: false };

async function createVersion(transaction: Transaction<Schema>, draft: ObjectDraft): Promise<PublishedObject> {
  const { projectId, kind, name, digest } = draft;
  const place = { project_id: projectId, kind, name };
  // Writes before it reads, because the write serves as a lock: concurrent publications of the same name wait here.
  const { version_count: version } = await transaction
    .insertInto("published_names")
    .values({ ...place, version_count: 0 })
    .onConflict((conflict) =>
      conflict.columns(["project_id", "kind", "name"]).doUpdateSet((row) => ({
        version_count: row.ref("published_names.version_count"),
      })),
    )
    .returning("version_count")
    .executeTakeFirstOrThrow();
  const stored = () =>
    versionsOf(transaction, projectId)
      .where("kind", "=", kind)
      .where("name", "=", name)
      .where("digest", "=", digest)
      .executeTakeFirst();
  const known = await stored();
  if (known !== undefined) return objectOf(known);
  await transaction
    .insertInto("published_objects")
    .values({
      ...place,
      digest,
      version,
      value: draft.value,
      base_class: draft.baseClass,
      leaf_class: draft.leafClass,
      created_at: draft.createdAt.toISOString(),
      created_by: draft.createdBy,
    })
    .execute();
  await transaction
    .updateTable("published_names")
    .set({ version_count: version + 1 })
    .where("project_id", "=", projectId)
    .where("kind", "=", kind)
    .where("name", "=", name)
    .execute();
  return objectOf(present(await stored(), "the version that was just stored"));
}

/** Selects the versions of all objects in a project, each with the number of the newest version of the same object. */
function versionsOf(database: Kysely<Schema>, projectId: string) {
  return database
    .selectFrom("published_objects")
    .selectAll()
    .select(newestVersion.as("newest_version"))
    .where("project_id", "=", projectId);
}

const newestVersion = sql<number>`(
  select max(other.version) from published_objects as other
  where other.project_id = published_objects.project_id and other.name = published_objects.name
    and other.kind = published_objects.kind
)`;

type Versions = ReturnType<typeof versionsOf>;
type VersionRow = Selectable<PublishedObjectTable> & { readonly newest_version: number };

function only(rows: Versions, version: VersionName): Versions {
  if (version === "latest") return rows;
  return "digest" in version
    ? rows.where("digest", "=", version.digest)
    : rows.where("version", "=", version.version);
}

function filtered(
  rows: Versions,
  { kind, names, baseClasses, leafClasses, latestOnly }: ObjectFilter,
): Versions {
  let found = rows;
  if (kind !== null) found = found.where("kind", "=", kind);
  for (const [column, values] of [
    ["name", names],
    ["base_class", baseClasses],
    ["leaf_class", leafClasses],
  ] as const) {
    if (values === null) continue;
    // An empty list matches nothing, but is not valid SQL in every database.
    found = values.length === 0 ? found.where(sql<boolean>`1 = 0`) : found.where(column, "in", values);
  }
  return latestOnly ? found.where("version", "=", newestVersion) : found;
}

function inOrder(rows: Versions, { by, isDescending }: ObjectOrder): Versions {
  const direction = isDescending ? "desc" : "asc";
  const ordered = by === "createdAt" ? rows.orderBy("created_at", direction) : rows;
  return ordered.orderBy("name", direction).orderBy("kind", direction).orderBy("version", direction);
}

function objectOf(row: VersionRow): PublishedObject {
  return {
    projectId: row.project_id,
    kind: row.kind === "op" ? "op" : "object",
    name: row.name,
    digest: row.digest,
    version: row.version,
    isLatest: row.version === row.newest_version,
    value: row.value,
    baseClass: row.base_class,
    leafClass: row.leaf_class,
    createdAt: new Date(row.created_at),
    createdBy: row.created_by,
  };
}
