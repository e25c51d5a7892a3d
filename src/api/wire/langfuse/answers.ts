// API format of the responses of Langfuse's routes for storing scores and for listing a key's projects.
import { Type } from "typebox";

const errorSchema = Type.Object({
  id: Type.Optional(Type.String({ description: "Id of the event." })),
  index: Type.Optional(Type.Integer({ description: "Index of the score in the request." })),
  status: Type.Integer({ description: "HTTP status that a request with only this score would get." }),
  message: Type.String({ description: "Reason for the refusal." }),
});

export const scoresAnswerSchema = Type.Object(
  {
    id: Type.Optional(Type.String({ description: "Id of the score, if the request had a single one." })),
    accepted: Type.Optional(Type.Integer({ description: "Number of stored scores of a list." })),
    rejected: Type.Optional(Type.Integer({ description: "Number of refused scores of a list." })),
    errors: Type.Optional(Type.Array(errorSchema, { description: "Reason for each refused score." })),
  },
  { title: "LangfuseScoresAnswer" },
);

export const ingestionAnswerSchema = Type.Object(
  {
    successes: Type.Array(Type.Object({ id: Type.String(), status: Type.Integer() }), {
      description: "Events whose score is stored.",
    }),
    errors: Type.Array(errorSchema, { description: "Events that were refused." }),
  },
  { title: "LangfuseIngestionAnswer" },
);

const named = { id: Type.String(), name: Type.String() };

export const projectsAnswerSchema = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        ...named,
        organization: Type.Object(named, { description: "Entity of the project." }),
        metadata: Type.Object({}),
      }),
      { description: "The project that the request's public key identifies." },
    ),
  },
  { title: "LangfuseProjects" },
);

export function projectsAnswer(projectId: string): object {
  const [entity = "", project = ""] = projectId.split("/");
  const organization = { id: entity, name: entity };
  return { data: [{ id: projectId, name: project, organization, metadata: {} }] };
}
