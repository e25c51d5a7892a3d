// Errors in the form of Ollama's API, as the body of an answer or as the last line of a stream.
import { Type } from "typebox";
import { errorSchema } from "../error.ts";

export const ollamaErrorSchema = Type.Object(
  {
    error: Type.String({ description: "Description of all faults, as one text." }),
    detail: errorSchema.properties.detail,
  },
  { title: "OllamaError", description: "Body of every error on the routes of Ollama's API." },
);

/** Members of the usual error body that Ollama's form has too. */
interface CommonError {
  readonly error: { readonly message: string };
  readonly detail: readonly object[];
}

export function ollamaError({ error, detail }: CommonError): object {
  return { error: error.message, detail };
}
