// Lines of the server's log as the API spells them.
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
        "`<start>-<number>`. Numbers rise by one with each line; another start of the server has another beginning.",
    }),
    time: Type.String({ description: "When it was written." }),
    level: Type.Enum([...lineLevels]),
    message: Type.String(),
    fields: Type.Record(Type.String(), Type.Unknown(), {
      description: "Everything else that the line says, such as `requestId` or `jobId`.",
    }),
  },
  { title: "LogLine" },
);
