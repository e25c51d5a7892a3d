// Annotation queues and items as rows. Lists of fields are JSON; so are texts of people, which may hold any character.
import type { Selectable } from "kysely";
import type {
  AnnotationItem,
  AnnotationQueue,
  DisplayField,
  ItemAnnotation,
  QueueContent,
} from "../../../base/domain/annotation/queue.ts";
import type { Question } from "../../../base/domain/annotation/question.ts";
import type { AnnotationItemTable, AnnotationQueueTable, AnnotationStateTable } from "../schema.ts";

/** The columns of what a queue's owners may change; of a change, those alone that it names. */
export function contentColumns(content: Partial<QueueContent>) {
  const { name, description, scorerRefs, questions, annotatorsPerItem } = content;
  return {
    ...(name === undefined ? {} : { name, folded_name: foldedName(name) }),
    ...(description === undefined ? {} : { description: JSON.stringify(description) }),
    ...(scorerRefs === undefined ? {} : { scorer_refs: JSON.stringify(scorerRefs) }),
    ...(questions === undefined ? {} : { questions: JSON.stringify(questions) }),
    ...(annotatorsPerItem === undefined ? {} : { annotators_per_item: annotatorsPerItem }),
  };
}

/** What names are looked for by: databases fold case each in their own way, if at all. */
export function foldedName(name: string): string {
  return name.toLowerCase();
}

export function queueOf(row: Selectable<AnnotationQueueTable>): AnnotationQueue {
  return {
    id: row.id,
    projectId: row.project_id,
    name: row.name,
    description: String(JSON.parse(row.description)),
    // The columns hold what `contentColumns` wrote.
    scorerRefs: JSON.parse(row.scorer_refs) as readonly string[],
    questions: JSON.parse(row.questions) as readonly Question[],
    annotatorsPerItem: row.annotators_per_item,
    createdAt: new Date(row.created_at),
    createdBy: row.created_by,
    updatedAt: new Date(row.updated_at),
    deletedAt: row.deleted_at === null ? null : new Date(row.deleted_at),
  };
}

/** @param states its annotators' */
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
    // The column holds states alone that are written.
    state: row.state as ItemAnnotation["state"],
    heldUntil: row.held_until === null ? null : new Date(row.held_until),
    updatedAt: new Date(row.updated_at),
  };
}
