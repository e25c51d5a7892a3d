// Fields of answers that contain a cost.
import { Type } from "typebox";
import { orNull } from "../nullable.ts";

/**
 * Returns the fields `cost` and `currency`.
 *
 * @param of the tokens that the cost covers, for the description
 */
export function costRows(of: string) {
  return {
    cost: orNull(Type.Number({ minimum: 0 }), {
      description: `Cost of ${of}, at the server's current prices (\`costs.prices\`); null if these tokens have no price.`,
    }),
    currency: orNull(Type.String(), { description: "Currency of `cost`; null if `cost` is null." }),
  };
}
