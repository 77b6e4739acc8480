import { start } from "./app.js";
import { makeFigures } from "./figures.js";

start(makeFigures);
