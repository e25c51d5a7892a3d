// Connects the stores to a PostgreSQL database, which any number of servers may share.
import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from "kysely";
import type { Connection } from "../dialect.ts";
import type { Schema } from "../schema.ts";
import { PostgresAnnouncer } from "./postgres-announcer.ts";
import { PostgresDriver } from "./postgres-driver.ts";
import { isKeyTaken, isMissingParent } from "./postgres-errors.ts";
import { postgresForm } from "./postgres-form.ts";
import { PostgresPool, type PoolOptions } from "./postgres-pool.ts";
import { openPostgresSnapshot } from "./postgres-snapshot.ts";
import { postgresSearches, searchConnections } from "./postgres-searches.ts";
import { shownUrl } from "./postgres-url.ts";

/**
 * Number of the advisory lock that a process takes before it changes tables. It is arbitrary, and nothing else uses it.
 */
const migrationLock = 4_866_371_026;
/** Maximum time in minutes to wait while another process migrates the database. */
const migrationMinutes = 30;

/** Opens a PostgreSQL database. Makes no connection before the first query. */
export function openPostgres(options: PoolOptions): Connection {
  const pool = new PostgresPool(options);
  const searchPool = new PostgresPool({ url: options.url, connections: searchConnections });
  const searches = postgresSearches(searchPool);
  const announcer = new PostgresAnnouncer(options.url, pool);
  const closeOthers = async (): Promise<void> => {
    await announcer.close();
    await searches.close();
    await searchPool.close();
  };
  const queries = new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new PostgresDriver(pool, closeOthers),
      createIntrospector: (database) => new PostgresIntrospector(database),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  return {
    queries,
    name: shownUrl(options.url),
    kind: "postgres",
    isExclusive: false,
    isMissingParent,
    isKeyTaken,
    form: postgresForm,
    searches,
    announcer,
    fault: () => pool.fault,
    damage: () => null,
    readTime: async () => {
      const { rows } = await sql<{ readonly time: Date }>`select clock_timestamp() as time`.execute(queries);
      return rows[0].time;
    },
    openSnapshot: () => openPostgresSnapshot(pool),
    lockForMigration: async (transaction) => {
      await sql`select set_config('lock_timeout', ${`${migrationMinutes}min`}, true), set_config('statement_timeout', '0', true)`.execute(
        transaction,
      );
      await sql`select pg_advisory_xact_lock(${migrationLock})`.execute(transaction);
    },
    writeEarly: null,
  };
}
