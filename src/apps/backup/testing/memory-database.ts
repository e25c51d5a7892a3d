// For tests: a database with its rows in memory. Tests can set a function that is called after each snapshot.
import type { Cell, DatabaseTables, TableColumns } from "../../../base/domain/backup/tables.ts";

type Content = Readonly<Record<string, readonly (readonly Cell[])[]>>;

const tables: readonly TableColumns[] = [
  { table: "models", columns: ["id"] },
  { table: "model_versions", columns: ["model_id", "step", "adapter_folder", "adapter_hash", "is_deleted"] },
  { table: "files", columns: ["id", "byte_count"] },
];

export class MemoryDatabase implements DatabaseTables {
  readonly name = "memory";
  readonly kind = "memory";
  readonly newestVersion = 1;
  /** Rows by table. */
  content: Content = {};
  /** Called after each snapshot. */
  afterSnapshot: () => void = () => undefined;
  openSnapshots = 0;
  faults: readonly string[] = [];

  async tables(): Promise<readonly TableColumns[]> {
    return tables;
  }

  async version(): Promise<number> {
    return 1;
  }

  async snapshot(): Promise<Awaited<ReturnType<DatabaseTables["snapshot"]>>> {
    const { content, faults } = this;
    this.openSnapshots += 1;
    this.afterSnapshot();
    let isOpen = true;
    return {
      rows: async function* ({ table }) {
        const rows = content[table] ?? [];
        if (rows.length > 0) yield rows;
      },
      faults: async () => faults,
      close: async () => {
        if (isOpen) this.openSnapshots -= 1;
        isOpen = false;
      },
    };
  }

  async requireTables(): Promise<void> {}

  async requireEmpty(): Promise<void> {}

  async fill(_version: number, load: Parameters<DatabaseTables["fill"]>[1]): Promise<void> {
    const filled: Record<string, (readonly Cell[])[]> = {};
    await load({
      insert: async ({ table }, rows) => void (filled[table] = [...(filled[table] ?? []), ...rows]),
    });
    this.content = filled;
  }

  async close(): Promise<void> {}
}
