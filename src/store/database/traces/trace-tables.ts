// Types of the tables with published objects, traced calls and their files.

export interface TraceTables {
  readonly published_names: PublishedNameTable;
  readonly published_objects: PublishedObjectTable;
  readonly traced_tables: TracedTableTable;
  readonly traced_rows: TracedRowTable;
  readonly traced_table_rows: TracedTableRowTable;
  readonly traced_files: TracedFileTable;
  readonly traced_calls: TracedCallTable;
}

/** Number of versions that were ever published under each name. */
export interface PublishedNameTable {
  readonly project_id: string;
  readonly kind: string;
  readonly name: string;
  readonly version_count: number;
}

export interface PublishedObjectTable {
  readonly project_id: string;
  readonly kind: string;
  readonly name: string;
  readonly digest: string;
  readonly version: number;
  readonly value: string;
  readonly base_class: string | null;
  readonly leaf_class: string | null;
  readonly created_at: string;
  readonly created_by: string;
}

export interface TracedTableTable {
  readonly project_id: string;
  readonly digest: string;
  readonly row_count: number;
  readonly created_at: string;
}

/** The distinct rows of all published tables of a project. */
export interface TracedRowTable {
  readonly project_id: string;
  readonly digest: string;
  readonly value: string;
}

export interface TracedTableRowTable {
  readonly project_id: string;
  readonly table_digest: string;
  readonly row_index: number;
  readonly row_digest: string;
}

export interface TracedFileTable {
  readonly project_id: string;
  readonly digest: string;
  readonly file_id: string;
  readonly entity: string;
  readonly byte_count: number;
  readonly created_at: string;
}

/**
 * Traced calls, one row for each. Columns of the start are null until the start arrives; columns of the end are null
 * until the end arrives.
 */
export interface TracedCallTable {
  readonly project_id: string;
  readonly id: string;
  readonly trace_id: string | null;
  readonly parent_id: string | null;
  readonly op_name: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly about: string | null;
  readonly attributes: string | null;
  readonly inputs: string | null;
  readonly ending: string | null;
  readonly output: string | null;
  readonly summary: string | null;
  readonly created_by: string;
}
