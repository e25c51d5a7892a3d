// A batch of checked records, packed so that threads can pass it on without parsing it. There are two formats of packs:
// in one, each record is a JSON list in the order of `packedFields`; in the other, each field is a column of texts.
// Each database uses the format that it reads faster.
import type { FeedbackContent } from "../feedback.ts";
import type { Json } from "../text/json.ts";
import { numbersIn } from "./payload-numbers.ts";
import { ColumnWriter, textsIn } from "./packed-columns.ts";
import { exactParts, type StoredForm, storedForm } from "./stored-form.ts";

/** A checked record before its time of creation and its author are known. */
export interface CheckedFeedback {
  readonly id: string;
  /** Content of the record as it is stored. */
  readonly content: FeedbackContent;
  /**
   * Hash of the content as the client sent it. If a request has an existing id, the hash shows whether it is a retry or
   * a conflict.
   */
  readonly contentHash: string;
}

type PackedRecord = Omit<FeedbackContent, "payload"> &
  Omit<StoredForm, "hasMoreNumbers"> & { readonly hasMoreNumbers: 0 | 1 } & Omit<CheckedFeedback, "content">;

/**
 * Names of the packed fields, in order. The payload is last, because only the payload is written as JSON; all other
 * fields are texts.
 */
export const packedFields = [
  "projectId",
  "id",
  "vendorRef",
  "feedbackType",
  "creator",
  "annotationRef",
  "runnableRef",
  "callRef",
  "triggerRef",
  "queueId",
  "contentHash",
  "exact",
  "emoji",
  "hasMoreNumbers",
  "callId",
  "payload",
] as const satisfies readonly (keyof PackedRecord)[];

export interface FeedbackBatch {
  readonly count: number;
  /** Packs that contain the records, in order. */
  readonly packs: readonly FeedbackPack[];
  readonly numbers: PackedNumbers;
  readonly projects: readonly BatchProject[];
  /** True if any record has an `annotation_ref`. */
  readonly hasAnnotations: boolean;
  /** Records that refer to an annotation queue. */
  readonly queued: readonly {
    readonly projectId: string;
    readonly queueId: string;
    readonly index: number;
  }[];
}

/** A project to which records of the batch belong. */
export interface BatchProject {
  readonly projectId: string;
  /** Index of the first record that belongs to the project. */
  readonly index: number;
  /** Total bytes of the project's payloads, as stored. */
  readonly payloadBytes: number;
}

export type PackForm = "rows" | "columns";

/** Records packed together. A pack has a few hundred kilobytes, or more if a single record is larger. */
export type FeedbackPack = PackOfRows | PackOfColumns;

export interface PackOfRows {
  readonly form: "rows";
  readonly count: number;
  /** JSON list with one list for each record, in UTF-8. */
  readonly json: Uint8Array<ArrayBuffer>;
}

export interface PackOfColumns {
  readonly form: "columns";
  readonly count: number;
  /** One column for each field, in the order of `packedFields`, as {@link ColumnWriter} writes them. */
  readonly columns: readonly Uint8Array<ArrayBuffer>[];
}

/** All numbers in the batch's payloads, for the index of payload numbers. */
export interface PackedNumbers {
  readonly fields: readonly { readonly projectId: string; readonly path: string }[];
  /**
   * Three entries for each number: the index of its field in `fields`, the index of its record in the batch, and the
   * number itself.
   */
  readonly triples: Float64Array<ArrayBuffer>;
}

/** Number of characters after which a pack is complete. A pack may exceed it by its last record. */
const packLengthMin = 1 << 18;

export class FeedbackPacker {
  readonly #packs: FeedbackPack[] = [];
  readonly #open: OpenPack;
  readonly #fields: { projectId: string; path: string }[] = [];
  readonly #fieldIndices = new Map<string, number>();
  readonly #triples: number[] = [];
  readonly #projects = new Map<string, { projectId: string; index: number; payloadBytes: number }>();
  readonly #queued: { projectId: string; queueId: string; index: number }[] = [];
  #count = 0;
  #hasAnnotations = false;

  constructor(form: PackForm) {
    this.#open = form === "rows" ? new OpenRows() : new OpenColumns();
  }

  /** @param payloadText payload of the record as JSON */
  add({ id, content, contentHash }: CheckedFeedback, payloadText: string): void {
    const form = storedForm(content, payloadText);
    const index = this.#count++;
    const { projectId, queueId, annotationRef } = content;
    if (annotationRef !== null) this.#hasAnnotations = true;
    const project = this.#projects.get(projectId) ?? { projectId, index, payloadBytes: 0 };
    project.payloadBytes += Buffer.byteLength(form.payload);
    if (project.index === index) this.#projects.set(projectId, project);
    if (queueId !== null) this.#queued.push({ projectId, queueId, index });
    for (const { path, number } of numbersIn(content.payload).numbers)
      this.#triples.push(this.#fieldIndex(projectId, path), index, number);
    this.#open.add({ id, content, contentHash }, form);
    if (this.#open.length >= packLengthMin) this.#packs.push(this.#open.take());
  }

  packed(): FeedbackBatch {
    if (this.#open.length > 0) this.#packs.push(this.#open.take());
    const numbers = { fields: this.#fields, triples: Float64Array.from(this.#triples) };
    return {
      count: this.#count,
      packs: this.#packs,
      numbers,
      projects: [...this.#projects.values()],
      hasAnnotations: this.#hasAnnotations,
      queued: this.#queued,
    };
  }

  #fieldIndex(projectId: string, path: string): number {
    const key = `${projectId} ${path}`;
    let index = this.#fieldIndices.get(key);
    if (index === undefined) {
      index = this.#fields.push({ projectId, path }) - 1;
      this.#fieldIndices.set(key, index);
    }
    return index;
  }
}

/** Pack to which records are still being added. */
interface OpenPack {
  /** Number of characters added since the last `take`. */
  readonly length: number;
  add(record: CheckedFeedback, form: StoredForm): void;
  take(): FeedbackPack;
}

class OpenRows implements OpenPack {
  readonly #encoder = new TextEncoder();
  #texts: string[] = [];
  length = 0;

  add(record: CheckedFeedback, form: StoredForm): void {
    const text = packedText(record, form);
    this.#texts.push(text);
    this.length += text.length;
  }

  take(): PackOfRows {
    const texts = this.#texts;
    [this.#texts, this.length] = [[], 0];
    return { form: "rows", count: texts.length, json: this.#encoder.encode(`[${texts.join()}]`) };
  }
}

class OpenColumns implements OpenPack {
  readonly #columns = packedFields.map(() => new ColumnWriter());
  #count = 0;
  length = 0;

  add(record: CheckedFeedback, form: StoredForm): void {
    for (const [index, value] of packedValues(record, form).entries()) {
      const text = value === null ? null : String(value);
      this.#columns[index].add(text);
      this.length += text?.length ?? 0;
    }
    this.#count += 1;
  }

  take(): PackOfColumns {
    const count = this.#count;
    [this.#count, this.length] = [0, 0];
    return { form: "columns", count, columns: this.#columns.map((column) => column.take()) };
  }
}

function packedText(record: CheckedFeedback, form: StoredForm): string {
  return `${JSON.stringify(packedValues(record, form).slice(0, -1)).slice(0, -1)},${form.payload}]`;
}

/** Returns the values of a record, in the order of `packedFields`. */
export function packedValues(
  { id, content, contentHash }: CheckedFeedback,
  form: StoredForm,
): readonly (string | number | null)[] {
  return [
    content.projectId,
    id,
    content.vendorRef,
    content.feedbackType,
    form.creator,
    content.annotationRef,
    content.runnableRef,
    content.callRef,
    content.triggerRef,
    form.queueId,
    contentHash,
    form.exact,
    form.emoji,
    form.hasMoreNumbers ? 1 : 0,
    form.callId,
    form.payload,
  ];
}

/** Yields the records of a batch, with one pack in memory at a time. */
export function* recordsIn({ packs }: FeedbackBatch): Generator<CheckedFeedback, void> {
  for (const pack of packs)
    for (const values of pack.form === "rows" ? rowsOf(pack) : rowsOfColumns(pack)) yield recordOf(values);
}

function rowsOf({ json }: PackOfRows): readonly (readonly Json[])[] {
  // Safe cast: the packer has written this JSON.
  return JSON.parse(new TextDecoder().decode(json)) as Json[][];
}

function* rowsOfColumns({ count, columns }: PackOfColumns): Generator<readonly Json[], void> {
  const texts = columns.map(textsIn);
  for (let index = 0; index < count; index++) {
    const values = texts.map((column) => column.next().value ?? null);
    // Safe cast: the packer has written the payload as JSON.
    yield [...values.slice(0, -1), JSON.parse(values.at(-1) ?? "{}") as Json];
  }
}

/** A record parsed from a pack. Its payload is the value itself, not text. */
type ReadRecord = Omit<PackedRecord, "payload"> & Pick<FeedbackContent, "payload">;

function recordOf(values: readonly Json[]): CheckedFeedback {
  // Safe cast: the packer has written the values in this order.
  const read = Object.fromEntries(packedFields.map((field, index) => [field, values[index]])) as ReadRecord;
  const { projectId, vendorRef, feedbackType, annotationRef, runnableRef, callRef, triggerRef } = read;
  const { payload, creator, queueId } = exactParts(read.exact) ?? read;
  const references = { vendorRef, annotationRef, runnableRef, callRef, triggerRef };
  const content = { projectId, feedbackType, payload, creator, queueId, ...references };
  return { id: read.id, content, contentHash: read.contentHash };
}
