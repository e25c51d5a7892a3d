// The questions of a queue as annotators are asked them: its own, and those of the annotation specs that it names.
import { type AnswerForm, answerFormOf } from "../../base/domain/annotation/question.ts";
import type { QueueContent } from "../../base/domain/annotation/queue.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import { parseReference } from "../feedback/references.ts";

export interface AskedQuestion {
  readonly name: string;
  readonly text: string;
  /** Null where the spec that asks it is not stored here: then any answer is taken. */
  readonly schema: JsonObject | null;
  /** Null where the schema is of another kind than those that people are asked by: the answer is JSON. */
  readonly form: AnswerForm | null;
  readonly isOptional: boolean;
  /** The spec that asks it; null for one of the queue's own. */
  readonly specRef: string | null;
}

/** What a stored annotation spec says. */
export interface SpecText {
  readonly text: string;
  readonly schema: JsonObject;
}

/** Finds a spec by its reference, in a project; null where it is not stored there. */
export type FindSpec = (projectId: string, reference: string) => Promise<SpecText | null>;

/** In order: those of specs, then the queue's own. */
export async function askedQuestions(
  {
    projectId,
    scorerRefs,
    questions,
  }: Pick<QueueContent, "scorerRefs" | "questions"> & {
    readonly projectId: string;
  },
  findSpec: FindSpec,
): Promise<readonly AskedQuestion[]> {
  const asked: AskedQuestion[] = [];
  for (const reference of scorerRefs) {
    const spec = await findSpec(projectId, reference);
    const name = specName(reference) ?? reference;
    const schema = spec?.schema ?? null;
    asked.push({
      name,
      text: spec?.text ?? name,
      schema,
      form: schema === null ? null : formOf(schema),
      isOptional: false,
      specRef: reference,
    });
  }
  return [...asked, ...questions.map((one) => ({ ...one, form: formOf(one.schema), specRef: null }))];
}

function formOf(schema: JsonObject): AnswerForm | null {
  const read = answerFormOf(schema);
  return "form" in read ? read.form : null;
}

/** The name that an annotation of a spec has; null where the reference is none of an object. */
export function specName(reference: string): string | null {
  const parsed = parseReference(reference);
  return parsed.isValid && parsed.reference.kind === "object" ? parsed.reference.name : null;
}

/** Which type the feedback has that answers a question: clients of Weave look for their own maker's. */
export function feedbackTypeOf({ name, specRef }: Pick<AskedQuestion, "name" | "specRef">): string {
  if (specRef === null) return `annotation.${name}`;
  return `${/^weave:/i.test(specRef) ? "wandb" : "vendor"}.annotation.${name}`;
}
