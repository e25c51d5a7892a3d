// A batch of checked records on its way from who reads it to who stores it: packed, so that it passes from thread to thread,
// and that nobody in between takes it apart. Each record is a list of JSON, in the order of `packedFields`.
import type { FeedbackContent } from "../feedback.ts";
import type { Json } from "../trajectory.ts";
import { numbersIn } from "./payload-numbers.ts";
import { exactParts, type StoredForm, storedForm } from "./stored-form.ts";

/** A record that was checked: what it is but for its time and its author. */
export interface CheckedFeedback {
  readonly id: string;
  /** As it is stored. */
  readonly content: FeedbackContent;
  /** Of the content as it was sent: what distinguishes a retry from a conflict. */
  readonly contentHash: string;
}

type PackedRecord = Omit<FeedbackContent, "payload"> &
  Omit<StoredForm, "hasMoreNumbers"> & { readonly hasMoreNumbers: 0 | 1 } & Omit<CheckedFeedback, "content">;

/** The payload comes last: its text stands in the list as the JSON that it is. */
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
  /** In order. */
  readonly packs: readonly FeedbackPack[];
  readonly numbers: PackedNumbers;
  readonly projects: readonly BatchProject[];
  /** Whether a record has an annotation_ref. */
  readonly hasAnnotations: boolean;
  /** The records that name an annotation queue. */
  readonly queued: readonly {
    readonly projectId: string;
    readonly queueId: string;
    readonly index: number;
  }[];
}

/** A project of a batch. */
export interface BatchProject {
  readonly projectId: string;
  /** The first record that names it. */
  readonly index: number;
  /** Of its payloads, as they are stored. */
  readonly payloadBytes: number;
}

export interface FeedbackPack {
  readonly count: number;
  /** A list of lists, as UTF-8: some hundred kilobytes, unless a single record has more. */
  readonly json: Uint8Array<ArrayBuffer>;
}

/** The numbers of all payloads, for the index. */
export interface PackedNumbers {
  readonly fields: readonly { readonly projectId: string; readonly path: string }[];
  /** Three for each number: the index of its field, that of its record in the batch, and the number itself. */
  readonly triples: Float64Array<ArrayBuffer>;
}

/** Characters after which a pack is closed. */
const packLengthMin = 1 << 18;

export class FeedbackPacker {
  readonly #packs: FeedbackPack[] = [];
  readonly #encoder = new TextEncoder();
  readonly #fields: { projectId: string; path: string }[] = [];
  readonly #fieldIndices = new Map<string, number>();
  readonly #triples: number[] = [];
  readonly #projects = new Map<string, { projectId: string; index: number; payloadBytes: number }>();
  readonly #queued: { projectId: string; queueId: string; index: number }[] = [];
  #open: string[] = [];
  #length = 0;
  #count = 0;
  #hasAnnotations = false;

  /** @param payloadText the payload as JSON */
  add({ id, content, contentHash }: CheckedFeedback, payloadText: string): void {
    const form = storedForm(content, payloadText);
    const text = packedText({ id, content, contentHash }, form);
    const index = this.#count++;
    const { projectId, queueId, annotationRef } = content;
    if (annotationRef !== null) this.#hasAnnotations = true;
    const project = this.#projects.get(projectId) ?? { projectId, index, payloadBytes: 0 };
    project.payloadBytes += Buffer.byteLength(form.payload);
    if (project.index === index) this.#projects.set(projectId, project);
    if (queueId !== null) this.#queued.push({ projectId, queueId, index });
    for (const { path, number } of numbersIn(content.payload).numbers)
      this.#triples.push(this.#fieldIndex(projectId, path), index, number);
    this.#open.push(text);
    this.#length += text.length;
    if (this.#length >= packLengthMin) this.#close();
  }

  packed(): FeedbackBatch {
    this.#close();
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

  #close(): void {
    if (this.#open.length === 0) return;
    const json = this.#encoder.encode(`[${this.#open.join()}]`);
    this.#packs.push({ count: this.#open.length, json });
    this.#open = [];
    this.#length = 0;
  }
}

/** In the order of `packedFields`. */
function packedText({ id, content, contentHash }: CheckedFeedback, form: StoredForm): string {
  const fields = JSON.stringify([
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
  ]);
  return `${fields.slice(0, -1)},${form.payload}]`;
}

/** The records of a batch, a pack in memory at a time. */
export function* recordsIn({ packs }: FeedbackBatch): Generator<CheckedFeedback, void> {
  const decoder = new TextDecoder();
  for (const { json } of packs)
    // What the packer wrote.
    for (const values of JSON.parse(decoder.decode(json)) as Json[][]) yield recordOf(values);
}

/** A record as JSON has it: what is stored as text is the payload itself here. */
type ReadRecord = Omit<PackedRecord, "payload"> & Pick<FeedbackContent, "payload">;

function recordOf(values: readonly Json[]): CheckedFeedback {
  // In the order in which the packer wrote them.
  const read = Object.fromEntries(packedFields.map((field, index) => [field, values[index]])) as ReadRecord;
  const { projectId, vendorRef, feedbackType, annotationRef, runnableRef, callRef, triggerRef } = read;
  const { payload, creator, queueId } = exactParts(read.exact) ?? read;
  const references = { vendorRef, annotationRef, runnableRef, callRef, triggerRef };
  const content = { projectId, feedbackType, payload, creator, queueId, ...references };
  return { id: read.id, content, contentHash: read.contentHash };
}
