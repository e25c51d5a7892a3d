// Formats numbers with Python's format letters, for both `format(value, spec)` and `%`.
import { TemplateFault } from "../fault.ts";
import { exponentText, fixedText, floatText } from "../values/float-text.ts";

/** Formats a magnitude (a number without its sign) with one of Python's format letters. */
export function floatDigits(value: number, letter: string, precision: number, isAlternate: boolean): string {
  const magnitude = Math.abs(value);
  if (!Number.isFinite(magnitude)) return inCase(Number.isNaN(magnitude) ? "nan" : "inf", letter);
  switch (letter.toLowerCase()) {
    case "f":
      return fixedText(magnitude, precision) + (isAlternate && precision === 0 ? "." : "");
    case "e":
      return inCase(exponentDigits(magnitude, precision, isAlternate), letter);
    case "g":
      return inCase(generalDigits(magnitude, precision, isAlternate), letter);
    default:
      throw new TemplateFault(`Unknown format code '${letter}' for object of type 'float'`);
  }
}

/** Maximum precision that is computed; further decimals are zeros. */
export const precisionMax = 4300;

function exponentDigits(value: number, precision: number, isAlternate: boolean): string {
  const [mantissa, exponent] = value.toExponential(Math.min(precision, 100)).split("e");
  const point = isAlternate && precision === 0 ? "." : "";
  return `${mantissa}${"0".repeat(Math.max(0, precision - 100))}${point}e${exponentText(Number(exponent))}`;
}

function generalDigits(value: number, precision: number, isAlternate: boolean): string {
  const significant = Math.max(1, precision);
  const exponent =
    value === 0 ? 0 : Number(value.toExponential(Math.min(significant, 101) - 1).split("e")[1]);
  const text =
    exponent < -4 || exponent >= significant
      ? exponentDigits(value, significant - 1, isAlternate)
      : fixedText(value, significant - 1 - exponent);
  if (isAlternate || !text.includes(".")) return text;
  const [mantissa, power] = text.split("e");
  const short = mantissa.replace(/\.?0+$/, "");
  return power === undefined ? short : `${short}e${power}`;
}

/** Formats a float as `str` does, with at least one decimal, for a format with a precision but no letter. */
export function plainFloatDigits(value: number, precision: number | null): string {
  const magnitude = Math.abs(value);
  if (precision === null || !Number.isFinite(magnitude)) return floatText(magnitude);
  const significant = Math.max(1, precision);
  const exponent =
    magnitude === 0 ? 0 : Number(magnitude.toExponential(Math.min(significant, 101) - 1).split("e")[1]);
  if (exponent < -4 || exponent >= significant - 1) {
    if (exponent >= significant || exponent < -4) return generalDigits(magnitude, significant, false);
  }
  const text = generalDigits(magnitude, significant, false);
  return text.includes(".") || text.includes("e") ? text : `${text}.0`;
}

export function intDigits(value: bigint, letter: string): string {
  const magnitude = value < 0n ? -value : value;
  switch (letter) {
    case "b":
      return magnitude.toString(2);
    case "o":
      return magnitude.toString(8);
    case "x":
      return magnitude.toString(16);
    case "X":
      return magnitude.toString(16).toUpperCase();
    default:
      return magnitude.toString();
  }
}

function inCase(text: string, letter: string): string {
  return letter === letter.toUpperCase() ? text.toUpperCase() : text;
}
