import 'uplot/dist/uPlot.min.css';
import { mount } from './app';

window.attune = mount();
