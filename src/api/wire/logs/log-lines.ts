// Lines of the server's log in the API.
import { Type } from "typebox";
import { lineLevels } from "../../../base/domain/logs/log-line.ts";
import { pageQueryFields } from "../page.ts";

export const logQuerySchema = Type.Object({
  ...pageQueryFields,
  level: Type.Optional(
    Type.Enum([...lineLevels], { default: "debug", description: "Lines of this level and above." }),
  ),
});

export const logLineSchema = Type.Object(
  {
    id: Type.String({
      description:
        "`<start>-<number>`. The number rises by one per line; each start of the server has another prefix.",
    }),
    time: Type.String({ description: "Time of writing." }),
    level: Type.Enum([...lineLevels]),
    message: Type.String(),
    fields: Type.Record(Type.String(), Type.Unknown(), {
      description: "All other members of the line, such as `requestId` or `jobId`.",
    }),
  },
  { title: "LogLine" },
);
