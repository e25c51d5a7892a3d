// The first requests of Weave clients: one for the server's version, and GraphQL queries for a project and the owner of
// the key. The server recognizes a query by its first field, and supports no other GraphQL.
import { Type } from "typebox";
import type { BodyForm } from "../body.ts";
import { anyObject, open } from "../fields/any-object.ts";
import { nullable } from "../nullable.ts";

export const serverInfoSchema = Type.Object(
  {
    min_required_weave_python_version: Type.String({
      description: "Oldest accepted version of the Weave client; all versions are accepted.",
    }),
    trace_server_version: Type.String({ description: "Version of Hone." }),
  },
  { title: "WeaveServerInfo" },
);

const graphqlSchema = Type.Object(
  {
    query: Type.String({
      maxLength: 65_536,
      description: "GraphQL query of `project`, `upsertModel` or `viewer`.",
    }),
    variables: nullable(anyObject, { description: "Variables of the query." }),
    operationName: nullable(Type.String(), { description: "Name of the operation to run." }),
  },
  { title: "WeaveGraphqlReq" },
);
export const graphqlForm: BodyForm<typeof graphqlSchema> = { schema: graphqlSchema };
export const graphqlAnswerSchema = Type.Object({ data: Type.Object({}, open) });

/** A GraphQL query that the server supports. */
export type GraphqlQuery =
  /**
   * Asks for a project, or asks to create it. Both get the same answer, because a project exists as soon as a request
   * names it.
   */
  | { readonly field: "project" | "upsertModel"; readonly entity: string; readonly project: string }
  /** Asks for the owner of the key. */
  | { readonly field: "viewer" };

/** Returns the parsed query; null if the server does not support it. */
export function parseGraphqlQuery(
  query: string,
  variables: Readonly<Record<string, unknown>>,
): GraphqlQuery | null {
  // The name of the first field inside the operation's braces.
  const field = /\{\s*(\w+)/.exec(query)?.[1];
  if (field === "viewer") return { field };
  if (field !== "project" && field !== "upsertModel") return null;
  const [entity, project] = [variables["entityName"] ?? variables["entity"], variables["name"]];
  if (typeof entity !== "string" || typeof project !== "string") return null;
  return { field, entity, project };
}
