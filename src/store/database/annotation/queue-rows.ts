// Converts annotation queues and items to rows and back. Lists of fields are stored as JSON. Texts that people write
// are stored as JSON strings, because they may contain characters that a database cannot store.
import type { Selectable } from "kysely";
import {
  type AnnotationItem,
  type AnnotationQueue,
  type DisplayField,
  type ItemAnnotation,
  type QueueContent,
  queueFields,
} from "../../../base/domain/annotation/queue.ts";
import { columnsOf } from "../columns/resource-columns.ts";
import type { AnnotationItemTable, AnnotationQueueTable, AnnotationStateTable } from "../schema.ts";

const columns = columnsOf(queueFields);

/** Returns the columns of a queue's content, including the lower-case name for searches. */
export function contentColumns(content: QueueContent) {
  return { ...columns.write(content), folded_name: foldedName(content.name) };
}

/** Returns the column values for those fields that a change contains. */
export function changedColumns(content: Partial<QueueContent>) {
  const { name } = content;
  return { ...columns.writeSome(content), ...(name === undefined ? {} : { folded_name: foldedName(name) }) };
}

/**
 * Converts a name to lower case for searches. JavaScript does this, because databases differ in how they convert case.
 */
export function foldedName(name: string): string {
  return name.toLowerCase();
}

export function queueOf(row: Selectable<AnnotationQueueTable>): AnnotationQueue {
  return {
    id: row.id,
    projectId: row.project_id,
    ...columns.read(row),
    createdAt: new Date(row.created_at),
    createdBy: row.created_by,
    updatedAt: new Date(row.updated_at),
    deletedAt: row.deleted_at === null ? null : new Date(row.deleted_at),
  };
}

/**
 * Converts a row to an item.
 *
 * @param states states of the item's annotators
 */
export function itemOf(
  row: Selectable<AnnotationItemTable>,
  states: readonly Selectable<AnnotationStateTable>[],
): AnnotationItem {
  return {
    id: row.id,
    queueId: row.queue_id,
    position: row.position,
    vendorRef: row.vendor_ref,
    callId: row.call_id,
    displayFields: JSON.parse(row.display_fields) as readonly DisplayField[],
    addedBy: row.added_by,
    createdAt: new Date(row.created_at),
    annotations: states.map(annotationOf),
  };
}

function annotationOf(row: Selectable<AnnotationStateTable>): ItemAnnotation {
  return {
    annotator: row.annotator,
    // Safe cast: this column only ever contains states.
    state: row.state as ItemAnnotation["state"],
    heldUntil: row.held_until === null ? null : new Date(row.held_until),
    updatedAt: new Date(row.updated_at),
  };
}
