// Documents the answers of Ollama's routes, whose errors have Ollama's form.
import { ollamaErrorSchema } from "../../wire/ollama/error.ts";
import { answered, type AnswerSchemas } from "../documentation/document-routes.ts";

/** Returns the `response` part of a route's schema. */
export function ollamaAnswered(description: string, schemas: AnswerSchemas): object {
  return { ...answered(description, schemas), "4xx": ollamaErrorSchema, "5xx": ollamaErrorSchema };
}

/** Options of the routes whose body names a model. */
export const modelGroup = {
  tag: "ollama",
  scheme: "bearer",
  fieldPaths: { model: ["body", "model"], not_found: ["body", "model"] },
  answered: ollamaAnswered,
} as const;
