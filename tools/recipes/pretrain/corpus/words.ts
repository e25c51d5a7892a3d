// Words for exercises about letters and choices: everyday words of three to six letters, and random letter strings,
// which force the model to look at the letters.
import type { Random } from "../../../../src/base/domain/random.ts";
import { capitalized, chance, integer, pick } from "./exercise.ts";

const shortWords = `
act add age air and ant ape arm art ask axe bad bag bat bay bed bee big bit boat book bone bowl box boy bread brush bug bus
cab cake calm camp can cap car card cat chair chin city clay clock cloud coat code coin cold cook cool corn cow crab cup cut
dark day deep desk dish dog door dot down draw dream drum dry duck dust ear early earth east easy echo edge egg eight elf empty end
face fair fall far farm fast fat fern few field fig fire fish five flag flat floor flow fly fog food foot fork four fox free frog full fun
game gate gift girl glad glass goat gold good grape grass gray green grow gum gym hall ham hand happy hard hat hay head heart hen herb high
hill hit home honey hop horn horse hot hour house hut ice idea inch ink iron ivy jam jar jaw jet job joke joy juice jump keen keep key
kid kind king kite knee knot lake lamp land lap last late leaf left leg lemon less lid light lily line lion lip list live loaf lock log long
loud love low luck lunch mail map march mask mat meal melon milk mint mix moon more moss moth mouse mouth mud music name neat neck nest net new
next nice night nine noise north nose note nut oak oat ocean oil old olive one onion open orange oven owl page pail paint pan paper park path peach
pear pen pet piano pie pig pin pink pipe plan plant plate play plum pond pony pool pot purple quick quiet rain ram rat raw read ready red rice rich
ride ring ripe river road rock roof room root rope rose round row rug run sad safe sail salt same sand save school sea seed send seven ship shoe
shop short sing six skin sky sleep slow small smile snow soap sock soft song soup south spoon spot spring star stone store storm sugar sun swan sweet
swim table tall tap tea team tent thin three tiger time tin tiny toad toe top town toy train tree true tub tulip two van vase vest vine violet
voice walk wall war warm wash water wave wax web week well west wet wheel white wide wild win wind wing winter wise wolf wood wool word worm year yellow young zoo
`;

/** Everyday words in lower case. */
export const words: readonly string[] = shortWords.trim().split(/\s+/);

/** Everyday words that are so frequent in prose that they are single tokens; the model has to memorize their letters. */
const frequentWords: readonly string[] =
  `add age and big boy can cat city cold corn cow day dog duck early end fast few fish food four fox frog girl good green happy
  hen home horse house juice key king left lemon less lion list milk more mouse name new next one owl pear plum read red river sea
  shoe short sleep slow small song star tea three tiny tree two water well white word year yellow maybe yes`.split(
    /\s+/,
  );

/** Returns an everyday word; frequent ones are more likely. */
export function drawEverydayWord(random: Random): string {
  return pick(random, chance(random, 0.35) ? frequentWords : words);
}

/** Common first names. */
export const names: readonly string[] =
  `Tom Anna Ben Mia Sam Lucy Max Emma Leo Nina Paul Sara Jack Ella Adam Rosa Finn Ida Karl Lena
  Omar Ruth Hugo Vera Noah Zoe Alex Kate Mark Jane Peter Maria David Laura Eric Julia`.split(/\s+/);

const consonants = Array.from("bcdfghjklmnprstvwz");
const vowels = Array.from("aeiou");
const letters = Array.from("abcdefghijklmnopqrstuvwxyz");

/** Returns a random lowercase string that is hardly ever a word. */
export function drawLetters(random: Random, length: number): string {
  const speakable = chance(random, 0.6);
  let text = "";
  for (let place = 0; place < length; place++) {
    text += pick(random, speakable ? (place % 2 === 0 ? consonants : vowels) : letters);
  }
  return text;
}

/**
 * Returns a first name: half are common names and half are made up, so that the model learns to copy any name letter by
 * letter.
 */
export function drawName(random: Random): string {
  return chance(random, 0.5) ? pick(random, names) : capitalized(drawLetters(random, integer(random, 3, 7)));
}

/** Returns a word or a random string of `from` to `to` letters, sometimes capitalized or all in capitals. */
export function drawWord(random: Random, from: number, to: number): string {
  let word = drawLetters(random, integer(random, from, to));
  if (chance(random, 0.5)) {
    do word = drawEverydayWord(random);
    while (word.length < from || word.length > to);
  }
  const roll = random.uniform();
  if (roll < 0.04) return word.toUpperCase();
  return roll < 0.1 ? capitalized(word) : word;
}
