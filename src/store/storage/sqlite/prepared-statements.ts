// The statements of a session that were made last, kept prepared: to prepare one that writes many rows takes as long as to
// carry it out.
import type Database from "libsql";

export interface PreparedStatement {
  readonly statement: Database.Statement;
  /** Whether it answers with rows. */
  readonly isReader: boolean;
}

const statementsMax = 200;
/** What else there is, such as a change of a table, may be what a prepared one was made by. */
const isKept = /^\s*(?:select|insert|update|delete|with)\b/i;

export class PreparedStatements {
  readonly #database: Database.Database;
  /** By their texts, the one used longest ago first. */
  readonly #statements = new Map<string, PreparedStatement>();

  constructor(database: Database.Database) {
    this.#database = database;
  }

  /** @throws the driver's errors */
  get(sql: string): PreparedStatement {
    if (!isKept.test(sql)) {
      this.#statements.clear();
      return this.#prepare(sql);
    }
    const prepared = this.#statements.get(sql) ?? this.#prepare(sql);
    this.#statements.delete(sql);
    this.#statements.set(sql, prepared);
    if (this.#statements.size > statementsMax) {
      const [[oldest]] = this.#statements;
      this.#statements.delete(oldest);
    }
    return prepared;
  }

  #prepare(sql: string): PreparedStatement {
    const statement = this.#database.prepare(sql);
    return { statement, isReader: statement.reader };
  }
}
