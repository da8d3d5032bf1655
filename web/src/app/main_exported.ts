import 'uplot/dist/uPlot.min.css';
import { ExportedAnswers, readAnswers } from '../session/exported';
import { mount } from './mount';

const answers = readAnswers([...document.querySelectorAll('script.answers')].map((element) => element.textContent ?? ''));
window.attune = mount((handlers) => new ExportedAnswers(handlers, answers));
