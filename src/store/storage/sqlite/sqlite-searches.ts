// Searches of a SQLite file, each lane with a session of its own.
import { LanedSearches } from "../searches/laned-searches.ts";
import { haveThreads } from "./libsql-threads.ts";
import { SearchSession } from "./search-session.ts";

/** Slow ones at once: those of two entities. Each takes a core as long as it runs. */
const slowMax = 2;

export function sqliteSearches(file: string): LanedSearches {
  haveThreads(1 + slowMax);
  const slow = Array.from({ length: slowMax }, () => new SearchSession(file));
  return new LanedSearches({ quick: [new SearchSession(file)], slow });
}
