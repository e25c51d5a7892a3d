// Service that publishes and reads tables of traced data.
import type { Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { reachProject } from "../../base/domain/project.ts";
import { notFound } from "../../base/domain/service-error.ts";
import type { Slice } from "../../base/domain/traces/published-object.ts";
import type { IndexedRow, TableStore } from "../../base/domain/traces/traced-table.ts";
import { requireExpectedDigest } from "./object-service.ts";
import { digestsIn, rowsIn, type PackedRows } from "./packed-rows.ts";

/** A table that a client publishes, parsed from its request. */
export interface TableInput {
  readonly projectId: string;
  readonly digest: string;
  /** Digest that the client computed in advance; null if the client did not compute one. */
  readonly expectedDigest: string | null;
  /**
   * JSON of the table's rows. Null if the client sent only the digests of the rows, because the project already stores
   * them.
   */
  readonly lines: PackedRows["lines"] | null;
  readonly rowDigests: PackedRows["digests"];
}

export interface TableService {
  /**
   * Stores the rows under the table's digest. Publishing the same table again changes nothing.
   *
   * @throws ServiceError `invalid`, `forbidden`; `conflict` if the digest differs from the client's; `not_found` if the
   * client sent only the digests of the rows, and the project does not store one of them
   */
  publish(table: TableInput, caller: Caller): Promise<void>;
  /**
   * Returns rows of a published table.
   *
   * @throws ServiceError `invalid`, `forbidden`, `not_found`
   */
  rows(
    table: {
      readonly projectId: string;
      readonly digest: string;
      readonly rowDigests: readonly string[] | null;
    },
    slice: Slice,
    caller: Caller,
  ): Promise<readonly IndexedRow[]>;
  /**
   * Returns the number of rows in a table.
   *
   * @throws ServiceError `invalid`, `forbidden`, `not_found`
   */
  count(projectId: string, digest: string, caller: Caller): Promise<number>;
}

export interface TableDependencies {
  readonly store: TableStore;
  readonly clock: Clock;
}

export function createTableService({ store, clock }: TableDependencies): TableService {
  const count = async (projectId: string, digest: string, caller: Caller): Promise<number> => {
    reachProject(projectId, caller);
    const found = await store.count(projectId, digest);
    if (found === null) throw notFound("table", digest);
    return found;
  };
  return {
    publish: async ({ projectId, digest, expectedDigest, lines, rowDigests: digests }, caller) => {
      reachProject(projectId, caller);
      requireExpectedDigest(digest, expectedDigest);
      const table = { projectId, digest, createdAt: clock.now() };
      if (lines === null) await store.createOf(table, digestsIn(digests));
      else await store.create(table, rowsIn({ digests, lines }));
    },
    rows: async ({ projectId, digest, rowDigests }, slice, caller) => {
      await count(projectId, digest, caller);
      return await store.rows(projectId, digest, rowDigests, slice);
    },
    count,
  };
}
