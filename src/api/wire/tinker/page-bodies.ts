// Pages of lists in the Tinker API: their query, and the cursor in their answer.
import { Type } from "typebox";

export const cursorOf = (what: string) =>
  Type.Object({
    offset: Type.Integer({ description: `Number of ${what} before these.` }),
    limit: Type.Integer({ description: `Maximum number of ${what} in an answer.` }),
    total_count: Type.Integer({ description: `Number of all ${what}.` }),
  });
export const pageQuery = (what: string, { usual, most }: { readonly usual: number; readonly most: number }) =>
  Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: most, default: usual, description: `Maximum number of ${what}.` }),
    ),
    offset: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0, description: `Number of ${what} to skip.` }),
    ),
  });
