import 'reflect-metadata';
import { dirname, join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GrpcMethod, RpcException, Transport } from '@nestjs/microservices';
import { of } from 'rxjs';

const [address, set] = process.argv.slice(2);
const proto = join(dirname(set), 'proto');

class GreeterController {
  greet({ name }) {
    if (name === 'nobody') throw new RpcException({ code: status.NOT_FOUND, message: 'There is nobody.' });
    return { text: `Hello ${name}` };
  }

  repeat({ name }) {
    const greeting = { text: `Hello ${name}` };
    return of(greeting, greeting, greeting);
  }
}

/** Decorates a method, as TypeScript does. */
function decorate(decorator, name) {
  const method = Object.getOwnPropertyDescriptor(GreeterController.prototype, name);
  Reflect.decorate([decorator], GreeterController.prototype, name, method);
}
decorate(GrpcMethod('Greeter', 'Greet'), 'greet');
decorate(GrpcMethod('Greeter', 'Repeat'), 'repeat');
Controller()(GreeterController);

class GreeterModule {}
Module({ controllers: [GreeterController] })(GreeterModule);

const server = await NestFactory.createMicroservice(GreeterModule, {
  transport: Transport.GRPC,
  options: {
    url: address,
    package: 'greeter.v1',
    protoPath: 'greeter/v1/greeter.proto',
    loader: { includeDirs: [proto] },
    onLoadPackageDefinition(definition, grpc) {
      new ReflectionService(definition).addToServer(grpc);
    },
  },
});
await server.listen();
